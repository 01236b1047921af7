/** The program behind `npm run doctor`. */
import { processInvocation } from '../run-command.ts';
import { runDoctor } from './run-doctor.ts';

process.exitCode = await runDoctor(processInvocation());
