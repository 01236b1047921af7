import { copyFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { openConsole } from '@quartermaster/api/src/server/console/build.ts';
import { SECRET_KEY, startTestServer, type TestServer } from '@quartermaster/api/test/support/server.ts';
import { temporaryFolder } from '@quartermaster/db/testing/temporary-folder.ts';
import { seed } from '@quartermaster/seed/seed.ts';
import { inject } from 'vitest';

/** A part of what `npm run seed` makes: enough for every screen to have something. */
const SCALE = 0.25;

const ENVIRONMENT = { QM_ALLOW_PRIVATE_ADDRESSES: '127.0.0.0/8,::1', QM_SECRET_KEY: SECRET_KEY };

/** A SQLite database with the data of the seed. */
type Seeded = { path: string; admin: { key: string } };

/** The first file of a run runs the seed, which takes seconds. The others start with a copy of its database. */
let seeded: Promise<Seeded> | undefined;

/** A server with the data of the seed, on SQLite. */
export async function startSeededServer(): Promise<TestServer> {
  seeded ??= makeSeeded();
  const { path, admin } = await seeded;
  const folder = await temporaryFolder('quartermaster-console-');
  await copyFile(path, join(folder, 'test.db'));
  const server = await startTestServer({ ...ENVIRONMENT, DATABASE_URL: `sqlite:${folder}/test.db` }, { openConsole });
  // The people have signed in at an identity provider whose address had another port.
  const { issuer } = server.trustedIssuer;
  await server.services.db
    .updateTable('identities')
    .set({ issuer: issuer ?? '' })
    .execute();
  const stop = async () => {
    await server.stop();
    await rm(folder, { recursive: true });
  };
  return { ...server, admin, stop };
}

async function makeSeeded(): Promise<Seeded> {
  const template = inject('template');
  if (template.dialect !== 'sqlite') throw new Error('the database of the seed is on SQLite');
  // Beside the template of the run, which is removed at its end.
  const path = join(dirname(template.path), 'seeded.db');
  await copyFile(template.path, path);
  const server = await startTestServer({ ...ENVIRONMENT, DATABASE_URL: `sqlite:${path}` });
  try {
    await seed({ url: server.url, credential: server.admin, scale: SCALE });
  } finally {
    await server.stop();
  }
  return { path, admin: server.admin };
}
