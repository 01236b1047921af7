import { deleteManifest, listManifests, type Manifest } from '@quartermaster/client';
import { getManifestOptions } from '@quartermaster/client/@tanstack/react-query.gen.ts';
import { Select } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense } from 'react';
import { ActionButton } from '../../components/action-button.tsx';
import { DangerButton } from '../../components/danger-button.tsx';
import { CopyId } from '../../components/copy.tsx';
import { Views } from '../../components/filters.tsx';
import { StateMark, Tag } from '../../components/marks.tsx';
import { placeOf } from '../../components/place.tsx';
import { PrincipalName } from '../../components/principal.tsx';
import { Screen } from '../../components/screen.tsx';
import { Empty, Failed, Loading } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { useAction } from '../../components/use-action.ts';
import { idempotencyKey, ifMatch } from '../../data/client.ts';
import { problemOf } from '../../data/problem.ts';
import { useUrlState } from '../../data/url-state.ts';
import { apiPath } from '../../data/curl.ts';
import classes from '../providers/provider.module.css';
import { ManifestContent } from './manifest-content.tsx';
import { ManifestForm } from './manifest-form.tsx';

const DefinitionDiff = lazy(() => import('../../components/definition-diff.tsx'));
const JsonEditor = lazy(() => import('./json-editor.tsx'));

export function ManifestScreen(): ReactNode {
  const { manifestId } = useParams({ from: '/manifests/$manifestId' });
  const { data, error, refetch } = useQuery(getManifestOptions({ path: { manifest_id: manifestId } }));
  if (data === undefined) {
    return (
      <Screen title="Manifest" above={<Link to="/manifests">Manifests</Link>}>
        {error === null ? <Loading /> : <Failed problem={problemOf(error)} retry={() => void refetch()} />}
      </Screen>
    );
  }
  return <Loaded key={data.id} manifest={data} />;
}

function Loaded({ manifest }: { manifest: Manifest }): ReactNode {
  const [state, setState] = useUrlState();
  const { id, name, kind, version, status, createdBy, createdAt } = manifest;
  const { view = 'declares' } = state;
  return (
    <Screen
      title={name}
      scrolls
      above={<Link to="/manifests">Manifests</Link>}
      summary={
        <div className="row">
          <Tag>{kind}</Tag>
          <StateMark state={status} tone={status === 'active' ? 'live' : 'quiet'} />
          <span>version {version}</span>
          <span>
            by <PrincipalName principal={createdBy} /> <Time at={createdAt} />
          </span>
          {placeOf(manifest)}
          <CopyId id={id} />
        </div>
      }
      request={{ method: 'GET', path: apiPath`/v1/manifests/${id}` }}
      actions={<Actions manifest={manifest} />}
      toolbar={
        <Views
          label="Part"
          views={[
            { value: 'declares', label: kind === 'agent' ? 'What it declares' : 'What it allows' },
            { value: 'json', label: 'JSON' },
            { value: 'versions', label: 'Versions' },
          ]}
        />
      }
    >
      <div className={classes.page}>
        {view === 'declares' && <ManifestContent manifest={manifest} />}
        {view === 'json' && (
          <Suspense fallback={<Loading rows={6} />}>
            <JsonEditor label="Manifest as JSON" value={JSON.stringify(manifest.spec, null, 2)} />
          </Suspense>
        )}
        {view === 'versions' && <Versions manifest={manifest} />}
      </div>
      {state['edit'] !== undefined && <ManifestForm manifest={manifest} close={() => setState({ edit: undefined })} />}
    </Screen>
  );
}

function Actions({ manifest }: { manifest: Manifest }): ReactNode {
  const [, setState] = useUrlState();
  const navigate = useNavigate();
  const { id, name, status } = manifest;
  const remove = useAction({
    run: () =>
      deleteManifest({
        path: { manifest_id: id },
        headers: { ...idempotencyKey(), ...ifMatch(`/v1/manifests/${id}`) },
        throwOnError: true,
      }),
    done: () => `${name} was deleted.`,
    onDone: () => navigate({ to: '/manifests', replace: true }),
  });
  return (
    <>
      <DangerButton
        scope="manifests:write"
        place={manifest}
        disabledReason={status === 'active' ? null : 'Only the active version can be deleted.'}
        title={`Delete ${name}?`}
        consequence="What only this manifest declares counts as unknown again."
        confirm="Delete the manifest"
        action={remove}
      >
        Delete
      </DangerButton>
      <ActionButton scope="manifests:write" place={manifest} onClick={() => setState({ edit: '1' })}>
        Write a new version
      </ActionButton>
    </>
  );
}

/** The difference between this version and another one. */
function Versions({ manifest }: { manifest: Manifest }): ReactNode {
  const [state, setState] = useUrlState();
  const query = { tenant_id: manifest.tenantId, name: manifest.name, kind: manifest.kind, limit: 100 };
  const { data, error, refetch } = useQuery({
    queryKey: ['versions', query],
    queryFn: async ({ signal }) => {
      const statuses = ['active', 'superseded'] as const;
      const pages = await Promise.all(
        statuses.map(
          async (status) => (await listManifests({ query: { ...query, status }, signal, throwOnError: true })).data,
        ),
      );
      return pages.flatMap(({ items }) => items).toSorted((a, b) => b.version - a.version);
    },
  });
  if (error !== null) return <Failed problem={problemOf(error)} retry={() => void refetch()} />;
  if (data === undefined) return <Loading rows={4} />;
  const versions = data.filter(({ subTenantId }) => subTenantId === manifest.subTenantId);
  const others = versions.filter(({ id }) => id !== manifest.id);
  const [former = others[0]] = others.filter(({ version }) => String(version) === state['with']);
  if (former === undefined) {
    return <Empty title="This is the only version">Write a new version to compare the two here.</Empty>;
  }
  const [before, after] = former.version < manifest.version ? [former, manifest] : [manifest, former];
  return (
    <>
      <VersionList versions={versions} shownId={manifest.id} />
      <Select
        label="Compare with"
        w={220}
        data={others.map(({ version, status }) => ({ value: String(version), label: `version ${version}, ${status}` }))}
        value={String(former.version)}
        allowDeselect={false}
        onChange={(value) => setState({ with: value ?? undefined })}
      />
      <p>
        From version {before.version} to version {after.version}:
      </p>
      <Suspense fallback={<Loading rows={3} />}>
        <DefinitionDiff before={comparable(before)} after={comparable(after)} />
      </Suspense>
    </>
  );
}

function VersionList({ versions, shownId }: { versions: readonly Manifest[]; shownId: string }): ReactNode {
  return (
    <ul className="stack" aria-label="Versions">
      {versions.map(({ id, version, status, createdBy, createdAt }) => (
        <li key={id} className="row">
          {id === shownId ? (
            <strong aria-current="page">version {version}</strong>
          ) : (
            <Link
              to="/manifests/$manifestId"
              params={{ manifestId: id }}
              search={(before) => ({ tenant: before['tenant'], view: 'versions' })}
            >
              version {version}
            </Link>
          )}
          <StateMark state={status} tone={status === 'active' ? 'live' : 'quiet'} />
          <span className="dim">
            by <PrincipalName principal={createdBy} /> <Time at={createdAt} />
          </span>
        </li>
      ))}
    </ul>
  );
}

/** Items by their names, so that a new one in the middle is one addition and not a change of all that follow. */
function comparable({ spec }: Manifest): object {
  const declares = Object.fromEntries(
    (spec.declares ?? []).map(({ provider, kind, name }) => [`${provider}: ${kind} ${name}`, 'declared']),
  );
  const { allow } = spec as { allow?: { provider: string; kind?: string; names?: string[] }[] };
  if (!Array.isArray(allow)) return { ...spec, declares };
  const allowed = Object.fromEntries(
    allow.map(({ provider, kind = 'every kind', names }) => [
      `${provider}: ${kind}`,
      names?.join(', ') ?? 'every name',
    ]),
  );
  return { ...spec, declares, allow: allowed };
}
