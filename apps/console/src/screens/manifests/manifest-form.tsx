import { createManifest, type Manifest, type ManifestSpecInput } from '@quartermaster/client';
import { getManifestSchemaOptions } from '@quartermaster/client/@tanstack/react-query.gen.ts';
import { Select, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense, useMemo, useState } from 'react';
import { FormDialog } from '../../components/form-dialog.tsx';
import { PLACE_LABELS, placeBody, PlaceFields } from '../../components/place-fields.tsx';
import { useAction } from '../../components/use-action.ts';
import { useFormHeaders } from '../../data/form-headers.ts';
import { useOnlyPlace } from '../../data/me.ts';
import { fieldErrorsOf } from '../../data/problem.ts';
import { useUrlState } from '../../data/url-state.ts';
import { type JsonSchema, schemaFaults } from './schema-faults.ts';

const JsonEditor = lazy(() => import('./json-editor.tsx'));

const TEMPLATE = `{
  "description": "",
  "owner": "",
  "declares": []
}
`;

const LABELS = { ...PLACE_LABELS, name: 'Name' };

type Props = {
  /** The manifest that a new version is written of. */
  manifest?: Manifest;
  name?: string;
  close: () => void;
};

/** Writes a manifest, or a new version of one. */
export function ManifestForm({ manifest, name: given = '', close }: Props): ReactNode {
  const [{ tenant = '' }] = useUrlState();
  const navigate = useNavigate();
  const [name, setName] = useState(manifest?.name ?? given);
  const [kind, setKind] = useState<Manifest['kind']>(manifest?.kind ?? 'agent');
  const only = useOnlyPlace();
  const [place, setPlace] = useState(
    manifest === undefined
      ? (only ?? { tenantId: tenant, subTenantId: '' })
      : { tenantId: manifest.tenantId, subTenantId: manifest.subTenantId ?? '' },
  );
  const [text, setText] = useState(manifest === undefined ? TEMPLATE : `${JSON.stringify(manifest.spec, null, 2)}\n`);
  const { data } = useQuery(getManifestSchemaOptions({ path: { kind } }));
  const schema = data as JsonSchema | undefined;
  const fault = useMemo(() => faultOf(text, schema), [text, schema]);
  const headersOf = useFormHeaders();
  const save = useAction({
    run: async () => {
      const spec = JSON.parse(text) as ManifestSpecInput;
      const body = { name, kind, spec, ...placeBody(place) };
      return (await createManifest({ body, headers: headersOf(body), throwOnError: true })).data;
    },
    inForm: true,
    done: ({ version }) => `Version ${version} of ${name} is active.`,
    onDone: ({ id }) => {
      close();
      void navigate({ to: '/manifests/$manifestId', params: { manifestId: id } });
    },
  });
  const errors = fieldErrorsOf(save.error);
  return (
    <FormDialog
      title={manifest === undefined ? 'Write a manifest' : `Write version ${manifest.version + 1} of ${manifest.name}`}
      submit={manifest === undefined ? 'Create' : 'Make it active'}
      size={760}
      close={close}
      save={save}
      labels={LABELS}
      incomplete={name === '' || place.tenantId === '' || fault !== null}
    >
      {manifest === undefined && (
        <>
          <TextInput
            label="Name"
            description="For an agent: the name that its spans have."
            required
            data-autofocus
            error={errors['name']}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
          />
          <Select
            label="Kind"
            data={['agent', 'gateway', 'channel']}
            value={kind}
            allowDeselect={false}
            onChange={(value) => value && setKind(value)}
          />
          <PlaceFields place={place} change={setPlace} errors={errors} />
        </>
      )}
      <Suspense fallback={<p className="dim">Loading the editor</p>}>
        <JsonEditor
          label="Manifest as JSON"
          value={text}
          onChange={setText}
          schema={schema}
          takesFocus={manifest !== undefined}
        />
      </Suspense>
      <p className={fault === null ? 'dim' : 'danger'}>{fault ?? 'It matches the schema of its kind.'}</p>
    </FormDialog>
  );
}

function faultOf(text: string, schema: JsonSchema | undefined): string | null {
  try {
    const value: unknown = JSON.parse(text);
    return schema === undefined ? null : (schemaFaults(value, schema)[0]?.message ?? null);
  } catch (error) {
    return error instanceof Error ? error.message : 'This is not JSON.';
  }
}
