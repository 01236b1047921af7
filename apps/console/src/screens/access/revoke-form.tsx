import {
  type DerivedAccess,
  revokeDerivedAccess,
  type RevokeDerivedAccessInput,
  type RevokedDerivedAccess,
} from '@quartermaster/client';
import { Checkbox } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { FormDialog } from '../../components/form-dialog.tsx';
import { plural } from '../../components/format.ts';
import { useAction } from '../../components/use-action.ts';
import { idempotencyKey } from '../../data/client.ts';

type Kind = DerivedAccess['kind'];

export const KIND_NAMES: Record<Kind, string> = {
  api_key: 'API key',
  gateway_session: 'gateway session',
  invitation: 'invitation',
  membership: 'membership',
  console_session: 'console session',
  platform_administrator: 'platform administrator',
};

const KINDS = Object.keys(KIND_NAMES) as Kind[];

/** One call revokes 500 records. More calls follow until nothing is left, up to this many. */
const MAX_CALLS = 40;

type Props = {
  source: string;
  found: readonly DerivedAccess[];
  /** The rows that the user selected. If there are any, these alone are revoked. */
  selected: readonly DerivedAccess[];
  close: () => void;
  onDone: () => void;
};

type Choice = Pick<RevokeDerivedAccessInput, 'kinds' | 'records' | 'includeSuccessors' | 'includeSource'>;

/** Revokes the selected rows, or asks which kinds of access to revoke. */
export function RevokeForm({ selected, ...props }: Props): ReactNode {
  return selected.length === 0 ? <RevokeKinds {...props} /> : <RevokeSelected selected={selected} {...props} />;
}

function RevokeSelected({ source, selected, close, onDone }: Omit<Props, 'found'>): ReactNode {
  const choice: Choice = {
    kinds: KINDS.filter((kind) => selected.some((access) => access.kind === kind)),
    records: selected.map(({ kind, id, tenantId, subTenantId }) => ({ kind, id, tenantId, subTenantId })),
    includeSuccessors: selected.some(({ isSuccessor }) => isSuccessor),
  };
  const revoke = useRevoke(source, choice, onDone, close);
  const counts = KINDS.flatMap((kind) => {
    const count = selected.filter((access) => access.kind === kind).length;
    return count === 0 ? [] : [plural(count, KIND_NAMES[kind])];
  });
  return (
    <FormDialog title="Revoke derived access" submit={`Revoke ${selected.length}`} isDanger close={close} save={revoke}>
      <p>{counts.join(', ')}.</p>
      <p className="dim">
        They stop working at once, and cannot be brought back. Sessions of a revoked key end with it.
      </p>
    </FormDialog>
  );
}

function RevokeKinds({ source, found, close, onDone }: Omit<Props, 'selected'>): ReactNode {
  const [kinds, setKinds] = useState<ReadonlySet<Kind>>(new Set(found.map(({ kind }) => kind)));
  const [includeSuccessors, setIncludeSuccessors] = useState(false);
  const isKey = source.startsWith('api_key:');
  const [includeSource, setIncludeSource] = useState(false);
  const revoke = useRevoke(source, { kinds: [...kinds], includeSuccessors, includeSource }, onDone, close);
  const toggle = (kind: Kind) =>
    setKinds((before) =>
      before.has(kind) ? new Set([...before].filter((each) => each !== kind)) : new Set([...before, kind]),
    );
  const countOf = (kind: Kind) => found.filter((access) => access.kind === kind).length;
  return (
    <FormDialog
      title="Revoke derived access"
      submit="Revoke"
      isDanger
      close={close}
      save={revoke}
      incomplete={kinds.size === 0}
    >
      <p>What you choose stops working at once, and cannot be brought back.</p>
      <fieldset className="stack qm-plain">
        <legend>What to revoke</legend>
        {KINDS.map((kind) => (
          <Checkbox
            key={kind}
            size="xs"
            label={`${plural(countOf(kind), KIND_NAMES[kind])} of those shown`}
            checked={kinds.has(kind)}
            onChange={() => toggle(kind)}
          />
        ))}
      </fieldset>
      <Checkbox
        size="xs"
        label="Successors, too"
        description="Keys that another account made by rotating one of these keys, and what was created with them."
        checked={includeSuccessors}
        onChange={(event) => setIncludeSuccessors(event.currentTarget.checked)}
      />
      {isKey && (
        <Checkbox
          size="xs"
          label="The key itself, too"
          checked={includeSource}
          onChange={(event) => setIncludeSource(event.currentTarget.checked)}
        />
      )}
    </FormDialog>
  );
}

/** Revokes what was chosen, with as many calls as that takes. */
function useRevoke(source: string, choice: Choice, onDone: () => void, close: () => void) {
  return useAction({
    run: async () => {
      const sum = { revoked: 0, skipped: 0, isComplete: false };
      for (let call = 0; call < MAX_CALLS && !sum.isComplete; call += 1) {
        const body = { ...choice, source };
        const { data } = await revokeDerivedAccess({ body, headers: idempotencyKey(), throwOnError: true });
        const revoked = totalOf(data);
        sum.revoked += revoked;
        sum.skipped = data.skipped;
        sum.isComplete = data.isComplete;
        if (revoked === 0) break;
      }
      return sum;
    },
    inForm: true,
    done: ({ revoked, skipped, isComplete }) =>
      [
        `${plural(revoked, 'record')} revoked.`,
        ...(skipped === 0
          ? []
          : [`${skipped} skipped: their role exceeds yours, or a tenant would lose its last owner.`]),
        ...(isComplete ? [] : ['There may be more that was not found: see "Offboarding" in the documentation.']),
      ].join(' '),
    onDone: () => {
      onDone();
      close();
    },
  });
}

function totalOf({ revoked }: RevokedDerivedAccess): number {
  return Object.values(revoked).reduce((sum, count) => sum + count, 0);
}
