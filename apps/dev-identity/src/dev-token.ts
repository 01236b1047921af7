/** The program behind `npm run --silent dev-token [-- <email>]`: a bearer token on stdout, and nothing else. */
import { runDevToken } from './run-dev-token.ts';

const { env: environment, stdout, stderr } = process;
process.exitCode = await runDevToken({ argv: process.argv.slice(2), environment, stdout, stderr });
