import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { ROOT, readConfig } from '../src/config.ts';
import { startMessage } from '../src/server/start-message.ts';
import { configRefusal as refusal } from './support/config-refusal.ts';
import { databaseFile } from './support/environment.ts';
import { startService } from './support/start.ts';

describe('the development start', () => {
  test('has defaults for one person at this machine, which variables override', () => {
    const config = readConfig({}, 'development');
    expect(config).toMatchObject({ mode: 'development', devIdentity: true, allowedNetworks: ['127.0.0.0/8', '::1'] });
    const replaced = readConfig({ QM_DEV_IDENTITY: '0', QM_ALLOW_PRIVATE_ADDRESSES: '' }, 'development');
    expect(replaced).toMatchObject({ devIdentity: false, allowedNetworks: [] });
    expect(readConfig({ QM_DEV_IDENTITY: '' }, 'development').devIdentity).toBe(false);
  });
});

describe('regression: the production start', () => {
  const refused = (environment: Record<string, string>) => refusal(environment, 'production');

  test('requires an issuer, unless only API keys are used', () => {
    expect(refused({})).toMatch(/^QM_OIDC_ISSUER: is required by npm run serve[^\n]+none[^\n]+$/);
    expect(readConfig({ QM_OIDC_ISSUER: 'none' }, 'production').oidc.issuer).toBeNull();
    const QM_OIDC_ISSUER = 'https://id.example.com';
    expect(readConfig({ QM_OIDC_ISSUER }, 'production').oidc.issuer).toBe(QM_OIDC_ISSUER);
  });

  test('refuses the development identity provider, even with another issuer, and allows no private addresses', () => {
    const QM_OIDC_ISSUER = 'https://id.example.com';
    expect(refused({ QM_OIDC_ISSUER, QM_DEV_IDENTITY: '1' })).toMatch(/^QM_DEV_IDENTITY: [^\n]+$/);
    expect(refused({ QM_OIDC_ISSUER: 'none', QM_DEV_IDENTITY: '1' })).toMatch(/^QM_DEV_IDENTITY: /);
    const config = readConfig({ QM_OIDC_ISSUER }, 'production');
    expect(config).toMatchObject({ mode: 'production', devIdentity: false, allowedNetworks: [] });
  });

  test('is a separate command, and the development start says that it is for development', async () => {
    const { scripts } = JSON.parse(await readFile(`${ROOT}/package.json`, 'utf8')) as {
      scripts: Record<string, string>;
    };
    expect(scripts['start']).toMatch(/ --development$/);
    expect(scripts['dev']).toMatch(/ --development$/);
    expect(scripts['serve']).toMatch(/ --production$/);
    const environment = { DATABASE_URL: `sqlite:${await databaseFile()}`, PORT: '0' };
    const server = await startService(environment);
    const message = startMessage(server, readConfig(environment, 'development'));
    expect(message).toMatch(/^This is the development start\. For production use npm run serve\.\n/);
    expect(startMessage(server, readConfig(environment))).not.toContain('development');
  });

  test('ends with what to do next: sign in, the address, and where an agent is connected', async () => {
    const environment = { DATABASE_URL: `sqlite:${await databaseFile()}`, PORT: '0', QM_DEV_IDENTITY: '1' };
    const server = await startService(environment);
    const lines = startMessage(server, readConfig(environment, 'development')).trimEnd().split('\n');
    expect(lines.slice(-3)).toEqual([
      `browser sign-in:   ${server.devSignIn?.link}`,
      `Quartermaster listens on ${server.url}`,
      `connect an agent:  ${server.url}/console/connect`,
    ]);
  });
});

describe('regression: a QM_ variable that is not a setting', () => {
  test.each([
    ['QM_RATE_LIMIT_INGESTS', 'QM_RATE_LIMIT_INGEST'],
    ['QM_OICD_ISSUER', 'QM_OIDC_ISSUER'],
    ['QM_SELFSERVICE', 'QM_SELF_SERVICE'],
    ['QM_DATABASE_URL', 'DATABASE_URL'],
    ['QM_PUBLIC_URI', 'QM_PUBLIC_URL'],
    ['QM_PORT', 'PORT'],
  ])('%s is refused, and the nearest setting is named: %s', (name, near) => {
    const message = refusal({ [name]: 'hunter2' });
    expect(message).toBe(`${name}: is not a setting. Did you mean ${near}?`);
  });

  test('each is reported on a separate line', () => {
    expect(refusal({ QM_LOGLEVEL: 'info', QM_METRIC_PORT: '1' }).split('\n')).toHaveLength(2);
  });

  test.each([
    { QM_URL: 'http://127.0.0.1:8080', QM_API_KEY: 'qm_x', QM_TEST_POSTGRES_URL: 'postgres://x' },
    // Kubernetes sets these for services named qm and qm-metrics.
    { QM_PORT: 'tcp://10.0.0.1:80', QM_SERVICE_HOST: '10.0.0.1', QM_SERVICE_PORT_HTTP: '80', QM_PORT_80_TCP_ADDR: 'x' },
    { QM_METRICS_SERVICE_HOST: '10.0.0.2', QM_METRICS_PORT_9464_TCP: 'tcp://10.0.0.2:9464' },
    { PORT: '9000', QM_PORT: '9000' },
    { QM_ANYTHING: '' },
    { OTHER_ANYTHING: 'x' },
  ])('is accepted where another program reads it, or where it is empty: %j', (environment) => {
    expect(readConfig(environment).databasePool).toBe(10);
  });
});

describe('regression: a HOST that means all addresses', () => {
  test.each(['0.0.0.0', '::', '0', '0.0', '::0', '0:0:0:0:0:0:0:0', '::ffff:0.0.0.0'])(
    'is refused without a public URL: %s',
    (HOST) => {
      expect(refusal({ HOST })).toMatch(/^QM_PUBLIC_URL: [^\n]+$/);
      expect(readConfig({ HOST, QM_PUBLIC_URL: 'https://qm.example.com' }).host).toBe(HOST);
      const address = `http://${HOST.includes(':') ? `[${HOST}]` : HOST}:8080`;
      expect(refusal({ HOST, QM_PUBLIC_URL: address })).toMatch(
        /^QM_PUBLIC_URL: should be the address that callers use/,
      );
    },
  );

  test.each(['127.0.0.1', '192.168.1.2', '::1', 'qm.internal', 'not a host'])('does not include %s', (HOST) => {
    expect(readConfig({ HOST }).host).toBe(HOST);
  });
});
