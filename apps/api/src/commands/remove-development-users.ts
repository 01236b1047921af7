/** The program behind `npm run remove-development-users`. */
import { processInvocation } from './run-command.ts';
import { runRemoveDevelopmentUsers } from './run-remove-development-users.ts';

process.exitCode = await runRemoveDevelopmentUsers(processInvocation());
