import { isolationTests } from './matrix.ts';

isolationTests('REST');
