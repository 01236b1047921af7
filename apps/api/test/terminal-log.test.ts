import { expect, test } from 'vitest';
import { terminalLog } from '../src/server/terminal-log.ts';

test('on a terminal, the log has warnings and failed requests, and nothing else', () => {
  const lines: string[] = [];
  const log = terminalLog({ write: (line) => void lines.push((JSON.parse(line) as { msg: string }).msg) });
  log.info({ head: 'token' }, 'audit head');
  log.info({ status: 200 }, 'request');
  log.info({ status: 499 }, 'closed request');
  log.info({ status: 404 }, 'failed request');
  log.info({ status: 503, path: '/console/connect' }, 'the console is being built');
  log.info({ status: 503, path: '/console/sign-in' }, 'no identity provider');
  log.warn({}, 'warning');
  log.error({}, 'error');
  expect(lines).toEqual(['failed request', 'no identity provider', 'warning', 'error']);
});
