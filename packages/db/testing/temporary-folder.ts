import { mkdtemp, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A file system in memory, on Linux. */
const IN_MEMORY = '/dev/shm';

/** The free space that is required there, in bytes. A test server with its databases needs far less. */
const ROOM = 2 * 1024 ** 3;

/**
 * Creates a folder for test databases. It is in memory if there is room, unless TMPDIR is set. On a disk, copying the hundreds of
 * files of a database is slow, and so is each commit.
 */
export async function temporaryFolder(prefix: string): Promise<string> {
  if (process.env['TMPDIR'] === undefined) {
    try {
      const { bavail, bsize } = await statfs(IN_MEMORY);
      if (bavail * bsize >= ROOM) return await mkdtemp(join(IN_MEMORY, prefix));
    } catch {
      // It does not exist, or is not accessible.
    }
  }
  return mkdtemp(join(tmpdir(), prefix));
}
