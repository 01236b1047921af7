/** The program behind `npm run admin-key`. */
import { runAdminKey } from './run-admin-key.ts';
import { processInvocation } from './run-command.ts';

process.exitCode = await runAdminKey(processInvocation());
