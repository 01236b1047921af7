/** The program behind `npm run healthcheck`. */
import { processInvocation } from './run-command.ts';
import { runHealthcheck } from './run-healthcheck.ts';

process.exitCode = await runHealthcheck(processInvocation());
