/** The program behind `npm run backup`. */
import { runBackup } from './run-backup.ts';
import { processInvocation } from './run-command.ts';

process.exitCode = await runBackup(processInvocation());
