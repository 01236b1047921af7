import { readFile } from 'node:fs/promises';
import { pathBesideDatabase } from '@quartermaster/api/src/server/beside-database.ts';
import { freePort } from '@quartermaster/db/testing/free-port.ts';
import { type Quartermaster, startQuartermaster } from '../servers/quartermaster.ts';
import type { Bench } from '../workloads/workload.ts';

export type ConsoleServer = Quartermaster & {
  url: string;
  /** Opens the console and signs in the development administrator. */
  signInLink: string;
};

/** Starts this API with its built console, on a copy of the world's file. */
export async function startConsoleServer(bench: Bench, file: string): Promise<ConsoleServer> {
  const { cores, world, profileFolder } = bench;
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const databaseUrl = `sqlite:${file}`;
  const server = await startQuartermaster({
    core: cores.server,
    databaseUrl,
    secretKey: world.secretKey,
    logPath: `${file}.log`,
    profileFolder,
    environment: { PORT: String(port), QM_PUBLIC_URL: url, QM_CONSOLE: 'on', QM_DEV_IDENTITY: '1' },
  });
  const secretFile = pathBesideDatabase({ databaseUrl, dataFolder: '' }, `sign-in-127.0.0.1-${port}`);
  const { issuer, secret } = JSON.parse(await readFile(secretFile, 'utf8')) as { issuer: string; secret: string };
  return { ...server, port, url, signInLink: `${issuer}/sign-in?secret=${secret}` };
}
