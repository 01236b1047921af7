import { mkdtemp, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Linux keeps what is in it in memory. */
const IN_MEMORY = '/dev/shm';

/** What has to be free there, in bytes: a server of the tests with its databases stays far below it. */
const ROOM = 2 * 1024 ** 3;

/**
 * Makes a folder for databases that nobody needs after the tests. In memory where there is room, unless TMPDIR says where
 * temporary files belong: the copy of a database is hundreds of files, and each commit to one waits for the disk.
 */
export async function temporaryFolder(prefix: string): Promise<string> {
  if (process.env['TMPDIR'] === undefined) {
    try {
      const { bavail, bsize } = await statfs(IN_MEMORY);
      if (bavail * bsize >= ROOM) return await mkdtemp(join(IN_MEMORY, prefix));
    } catch {
      // There is none, or it is not for us.
    }
  }
  return mkdtemp(join(tmpdir(), prefix));
}
