import type { ObservationGroup, ReviewDecision } from '@quartermaster/client';
import { Modal, Textarea } from '@mantine/core';
import { Fragment, type ReactNode, useCallback, useMemo, useState } from 'react';
import { ActionButton } from '../../components/action-button.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { formatNumber, plural } from '../../components/format.ts';
import { RowLink } from '../../components/row-link.tsx';
import { Time } from '../../components/time.tsx';
import { useReturnFocus } from '../../components/use-return-focus.ts';
import { providerLabel, useProviders } from '../../data/names.ts';
import { problemOf } from '../../data/problem.ts';
import { type UrlState, useUrlState } from '../../data/url-state.ts';
import { useGroupReview } from './actions.ts';
import { CONSEQUENCES, VERBS } from './bulk-bar.tsx';
import { type GroupBy, useObservationGroups } from './queries.ts';
import { ANY_STATUS, type ObservationQuery } from './query.ts';

/** The API answers at most so many. */
const MAX_GROUPS = 100;

const keyOf = ({ key }: ObservationGroup) => key;

type Props = { by: GroupBy; query: ObservationQuery; empty: ReactNode };

/** The inbox with one row for each provider or agent, and a decision about all that a row stands for. */
export function Groups({ by, query, empty }: Props): ReactNode {
  const [state, setState] = useUrlState();
  const list = useObservationGroups(by, query);
  const { byId } = useProviders();
  const [chosen, setChosen] = useState<ObservationGroup | null>(null);
  const nameOf = useCallback(
    (key: string) => (by === 'provider' ? providerLabel(byId.get(key), key) : key),
    [by, byId],
  );
  const columns = useMemo(() => {
    const { tenant: _tenant, row: _row, group: _group, item: _item, ...filters } = state;
    return groupColumns({ by, nameOf, filters, choose: setChosen });
  }, [by, nameOf, state]);
  return (
    <>
      <DataTable
        label={`Observations by ${by}`}
        list={list}
        columns={columns}
        keyOf={keyOf}
        active={state['row']}
        onActive={(row) => setState({ row })}
        onOpen={({ key }) => setState({ group: undefined, row: undefined, [by]: key }, { push: true })}
        empty={empty}
        {...(list.items.length === MAX_GROUPS && {
          footer: `The ${MAX_GROUPS} with the highest risk. A decision about them brings the next ones.`,
        })}
      />
      {chosen !== null && (
        <GroupDialog
          group={chosen}
          name={nameOf(chosen.key)}
          filter={filterOfGroup(chosen, by, query)}
          close={() => setChosen(null)}
        />
      )}
    </>
  );
}

/** What selects the observations of a group, without what was first seen after the group was counted. */
function filterOfGroup({ key, lastSeenAt }: ObservationGroup, by: GroupBy, query: ObservationQuery): ObservationQuery {
  return {
    ...query,
    ...(by === 'provider' ? { provider_id: key } : { agent: key }),
    first_seen_before: new Date(Date.parse(lastSeenAt) + 1).toISOString(),
  };
}

type ColumnOptions = {
  by: GroupBy;
  nameOf: (key: string) => string;
  filters: UrlState;
  choose: (group: ObservationGroup) => void;
};

function groupColumns({ by, nameOf, filters, choose }: ColumnOptions): Column<ObservationGroup>[] {
  const count = (key: string, header: string, of: (group: ObservationGroup) => number): Column<ObservationGroup> => ({
    key,
    header,
    width: '86px',
    isNumber: true,
    cell: (group) => formatNumber(of(group)),
  });
  const reason = ANY_STATUS.has(filters['view'] ?? '') ? 'Open a view of what needs a decision first.' : null;
  return [
    {
      key: 'group',
      header: by === 'provider' ? 'Provider' : 'Agent',
      width: 'minmax(140px, 2fr)',
      cell: ({ key }) => (
        <RowLink path="/inbox" search={{ ...filters, [by]: key }} className="truncate">
          {nameOf(key)}
        </RowLink>
      ),
    },
    count('high', 'High risk', ({ byRisk }) => byRisk.high),
    count('medium', 'Medium', ({ byRisk }) => byRisk.medium),
    count('all', 'All', (group) => group.count),
    {
      key: 'last',
      header: 'Last seen',
      width: '96px',
      isWideOnly: true,
      cell: ({ lastSeenAt }) => <Time at={lastSeenAt} />,
    },
    {
      key: 'actions',
      header: '',
      width: '80px',
      cell: (group) => (
        <ActionButton
          scope="runtime_observations:review"
          size="compact-xs"
          variant="default"
          disabledReason={reason}
          onClick={() => choose(group)}
        >
          Decide
        </ActionButton>
      ),
    },
  ];
}

type DialogProps = { group: ObservationGroup; name: string; filter: ObservationQuery; close: () => void };

function GroupDialog({ group: { count, byRisk }, name, filter, close }: DialogProps): ReactNode {
  const [note, setNote] = useState('');
  const [decided, setDecided] = useState(0);
  useReturnFocus();
  const review = useGroupReview({ progress: (done) => setDecided((before) => before + done), onDone: close });
  // What is left after a refusal in the middle.
  const left = count - decided;
  return (
    <Modal opened onClose={close} title={`Decide about ${plural(left, 'observation')} of ${name}?`}>
      <div className="stack">
        <p>
          {formatNumber(byRisk.high)} with high risk, {formatNumber(byRisk.medium)} with medium risk,{' '}
          {formatNumber(byRisk.low)} with low risk. What is first seen after this waits for another decision.
        </p>
        <Textarea
          label="Note for all of them"
          description="It is kept with each decision and in the audit."
          value={note}
          maxLength={2000}
          onChange={(event) => setNote(event.currentTarget.value)}
          data-autofocus
        />
        {review.isPending && (
          <p role="status" className="num">
            Decided {formatNumber(decided)} of {formatNumber(count)}
          </p>
        )}
        {review.error !== null && (
          <p role="alert" className="danger">
            {problemOf(review.error).message} {decided > 0 && `${plural(decided, 'observation')} decided so far.`}
          </p>
        )}
        <div className="qm-choices">
          {(Object.keys(VERBS) as ReviewDecision[]).map((decision) => (
            <Fragment key={decision}>
              <ActionButton
                scope="runtime_observations:review"
                variant="default"
                isDanger={decision === 'rejected'}
                disabledReason={review.isPending ? 'A decision is being stored.' : null}
                loading={review.isPending && review.variables.decision === decision}
                onClick={() => review.mutate({ filter, count: left, decision, note })}
              >
                {VERBS[decision]} {formatNumber(left)}
              </ActionButton>
              <span>{CONSEQUENCES[decision]}</span>
            </Fragment>
          ))}
        </div>
      </div>
    </Modal>
  );
}
