import type { Manifest, ManifestSpecInput } from '@quartermaster/client';
import type { ReactNode } from 'react';
import { MeaningShape, Tag } from '../../components/marks.tsx';
import { Facts } from '../../components/side-panel.tsx';

/** What a manifest declares, and what the sessions of a gateway with it may use. */
export function ManifestContent({ manifest: { kind, spec } }: { manifest: Manifest }): ReactNode {
  // An answer has the spec as it was published, and publishing checked it.
  const { description, owner, channel, channels, declares, allow } = spec as ManifestSpecInput;
  return (
    <>
      <Facts
        facts={[
          ['Description', description],
          ['Owner', owner],
          ['Channel', channel && [channel.type, channel.address].filter(Boolean).join(', ')],
          ['Channels', channels?.join(', ')],
        ]}
      />
      {kind !== 'agent' && <Allowed allow={allow} />}
      {(kind === 'agent' || (declares ?? []).length > 0) && <Declared declares={declares} />}
    </>
  );
}

function Allowed({ allow }: Pick<ManifestSpecInput, 'allow'>): ReactNode {
  return (
    <section>
      <h2 className="qm-subtitle">What sessions may use</h2>
      {allow === undefined && <p>Every item of the gateway’s providers, because this manifest has no “allow”.</p>}
      {allow?.length === 0 && <p>Nothing, because “allow” is empty.</p>}
      <ul>
        {allow?.map(({ provider, kind, names }) => (
          <li key={JSON.stringify([provider, kind, names])}>
            <strong>{provider}</strong>: {allowedText(kind, names)}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** No kind means every kind, and no list of names means every name. But an empty list means no item. */
function allowedText(kind: string | undefined, names: readonly string[] | undefined): string {
  if (names === undefined) return kind === undefined ? 'every item' : `every ${kind}`;
  if (names.length === 0) return 'nothing';
  return `${kind === undefined ? 'items' : `each ${kind}`} named ${names.join(', ')}`;
}

function Declared({ declares }: Pick<ManifestSpecInput, 'declares'>): ReactNode {
  if (declares === undefined) {
    return <p>It declares nothing. A gateway with this manifest grants every item of its providers.</p>;
  }
  if (declares.length === 0) return <p>It declares nothing. A gateway with this manifest grants nothing.</p>;
  return [...Map.groupBy(declares, ({ provider }) => provider)].map(([provider, items]) => (
    <section key={provider}>
      <h2 className="qm-subtitle">Declared at {provider}</h2>
      <ul>
        {items.map(({ kind, name }) => (
          <li key={`${kind} ${name}`} className="row">
            <MeaningShape meaning="declared" />
            {name} <Tag>{kind}</Tag>
          </li>
        ))}
      </ul>
    </section>
  ));
}
