import { type ChildProcess, spawn } from 'node:child_process';
import { EVERYWHERE } from '@quartermaster/db/tenancy.ts';
import { findTenant } from '@quartermaster/db/repositories/tenants.ts';
import express, { type Request, type RequestHandler, type Router } from 'express';
import { principalOfSession, sessionEnded } from '../../auth/console-sessions.ts';
import type { AuthServices } from '../../auth/trusted-issuer.ts';
import { installation } from '../../installation.ts';
import { ApiError } from '../../platform/errors.ts';
import { endOf, killGroup } from './child-process.ts';

/** `off`: this server has no sample data, or not for this person. `loading`, `removing`: the program is running. */
type State = 'off' | 'absent' | 'loading' | 'present' | 'removing';

/** `problem`: why the last attempt failed, in words. */
type Answer = { state: State; problem: string | null };

type Run = { state: 'loading' | 'removing'; child: ChildProcess };

/** A tenant that the seed makes. */
const TENANT = 'northwind';

export type SampleData = { router: Router; stop: () => void };

/**
 * Loads and removes sample data by a click in the console: it runs `npm run seed` against this server. For development starts,
 * because the seed signs in at the development identity provider as everyone. Mounted at `/console`.
 *
 * @param url where the server listens; null if it has no development identity provider
 */
export function sampleData(services: AuthServices, url: string | null): SampleData {
  let running: Run | null = null;
  let problem: string | null = null;

  const stateNow = async (): Promise<State> => {
    if (running !== null) return running.state;
    return (await findTenant(services.db, EVERYWHERE, TENANT)) === undefined ? 'absent' : 'present';
  };
  const start = (state: Run['state'], options: readonly string[]) => {
    problem = null;
    const [program, ...first] = installation.seedProgram;
    const child = spawn(program, [...first, ...options], {
      cwd: installation.root,
      env: { ...process.env, QM_URL: url ?? '', QM_API_KEY: '' },
      stdio: ['ignore', 'ignore', 'pipe'],
      // In its own process group, so that a stop also ends the package manager.
      detached: true,
    });
    running = { state, child };
    void endOf(child).then(({ code, output }) => {
      running = null;
      if (code === 0) return;
      problem = lastLineOf(output);
      services.log.warn({ output: problem }, 'the sample data could not be loaded or removed');
    });
  };

  const show = (): RequestHandler => async (req, res) => {
    const isFor = url !== null && (await isPlatformAdministrator(services, req));
    const answer: Answer = isFor ? { state: await stateNow(), problem } : { state: 'off', problem: null };
    res.set('Cache-Control', 'no-store').json(answer);
  };
  const change =
    (needed: State, next: Run['state'], options: readonly string[]): RequestHandler =>
    async (req, res) => {
      if (url === null) throw new ApiError('route_not_found', 'Only a development server has sample data.');
      if (!(await isPlatformAdministrator(services, req))) {
        const detail = 'Only platform administrators load and remove sample data.';
        throw new ApiError('platform_administrator_required', detail);
      }
      const state = await stateNow();
      // Of two clicks, the second one finds that the program runs.
      if (state === needed && running === null) start(next, options);
      const answer: Answer = { state: await stateNow(), problem };
      res.status(202).json(answer);
    };

  const router = express.Router();
  router.get('/sample-data', show());
  router.post('/sample-data', change('absent', 'loading', []));
  router.delete('/sample-data', change('present', 'removing', ['--remove']));
  router.all('/sample-data', () => {
    const allowed = 'GET, HEAD, POST, DELETE';
    throw new ApiError('method_not_allowed', `This path takes ${allowed}.`, { headers: { Allow: allowed } });
  });
  return {
    router,
    stop: () => {
      const pid = running?.child.pid;
      if (pid !== undefined) killGroup(pid);
    },
  };
}

/** @throws ApiError 401 for a request without a session */
async function isPlatformAdministrator(services: AuthServices, req: Request): Promise<boolean> {
  const principal = await principalOfSession(services, req);
  if (principal === null) throw sessionEnded();
  return principal.platformAdministrator;
}

function lastLineOf(text: string): string {
  return (
    text
      .trim()
      .split('\n')
      .at(-1)
      ?.replace(/^seed: /, '') || 'The program ended without a message.'
  );
}
