import { isolationTests } from './matrix.ts';

isolationTests('tRPC');
