import {
  cancelOperatorTask,
  claimOperatorTask,
  completeOperatorTask,
  type OperatorTask,
  searchCredentials,
  type TaskOutcome,
} from '@quartermaster/client';
import { getOperatorTaskOptions } from '@quartermaster/client/@tanstack/react-query.gen.ts';
import { Textarea } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Fragment, type ReactNode, useRef, useState } from 'react';
import { ActionButton } from '../../components/action-button.tsx';
import { CopyId, CurlButton } from '../../components/copy.tsx';
import { formatDuration, words } from '../../components/format.ts';
import { useKeys } from '../../components/hotkeys.ts';
import { StateMark } from '../../components/marks.tsx';
import { placeOf } from '../../components/place.tsx';
import { AccountName, PrincipalName } from '../../components/principal.tsx';
import { Facts, Section, SidePanel } from '../../components/side-panel.tsx';
import { Failed, Loading } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { useAction } from '../../components/use-action.ts';
import { idempotencyKey, ifMatch } from '../../data/client.ts';
import { useMe, useMissingScope } from '../../data/me.ts';
import { holds } from '../../data/rights.ts';
import { problemOf } from '../../data/problem.ts';
import { whileSignedIn } from '../../data/session.ts';
import { apiPath } from '../../data/curl.ts';
import { OUTCOMES } from './outcomes.ts';
import classes from './tasks.module.css';
import { LEASE_SECONDS, REFRESH_MS, useLease, useSecondsLeft } from './use-lease.ts';

type Props = { taskId: string; close: () => void };

export function TaskPanel({ taskId, close }: Props): ReactNode {
  const me = useMe();
  const path = { task_id: taskId };
  const {
    data: task,
    error,
    refetch,
  } = useQuery({
    ...getOperatorTaskOptions({ path }),
    refetchInterval: whileSignedIn(REFRESH_MS),
  });
  const isMine = task?.status === 'claimed' && task.assignee === me.principal;
  useLease(task, isMine);
  if (task === undefined) {
    return (
      <SidePanel label="Task" heading={<h2>Task</h2>} close={close}>
        {error === null ? <Loading rows={4} /> : <Failed problem={problemOf(error)} retry={() => void refetch()} />}
      </SidePanel>
    );
  }
  const { title, kind, status, subject, assignee, dueAt, attempts, lastError, progress, outcome, note } = task;
  return (
    <SidePanel
      label={`Task ${title}`}
      close={close}
      heading={
        <>
          <h2>{title}</h2>
          <div className="row dim">
            <StateMark state={status} tone={status === 'failed' ? 'danger' : isMine ? 'live' : 'quiet'} />
            {words(kind)}
          </div>
        </>
      }
      actions={<CurlButton request={{ method: 'POST', path: apiPath`/v1/operator/tasks/${taskId}/claim`, body: {} }} />}
      footer={<TaskActions key={task.id} task={task} isMine={isMine} />}
    >
      {lastError !== null && (
        <Section title="Last error">
          <p className={classes.error}>{lastError}</p>
          <p className="dim">
            {attempts === 1 ? 'It was tried once.' : `It was tried ${attempts} times.`}
            {status === 'open' || status === 'running' ? ' It is tried again by itself.' : ''}
          </p>
        </Section>
      )}
      <Section title="About">
        <Facts
          facts={[
            ['Subject', <SubjectLink key="subject" task={task} />],
            ['Subject id', <CopyId key="subject-id" id={subject.id} />],
            ['Priority', task.priority],
            ['Due', dueAt === null ? null : <Time key="due" at={dueAt} />],
            [
              'Progress',
              progress === null
                ? null
                : `${words(progress.phase)}: ${progress.done}${progress.total === null ? '' : ` of ${progress.total}`}`,
            ],
            ['Created', <Time key="created" at={task.createdAt} />],
            ['Tenant', placeOf(task)],
            ['Task id', <CopyId key="id" id={taskId} />],
          ]}
        />
      </Section>
      {(assignee !== null || outcome !== null || note !== null) && (
        <Section title={task.completedAt === null ? 'Who works on it' : 'How it ended'}>
          <Facts
            facts={[
              ['Assignee', assignee === null ? null : <PrincipalName key="who" principal={assignee} />],
              ['Outcome', outcome],
              ['Ended', task.completedAt === null ? null : <Time key="ended" at={task.completedAt} />],
              ['Note', note],
            ]}
          />
        </Section>
      )}
    </SidePanel>
  );
}

function TaskActions({ task, isMine }: { task: OperatorTask; isMine: boolean }): ReactNode {
  const { id, kind, status, leaseExpiresAt } = task;
  const [note, setNote] = useState('');
  const seconds = useSecondsLeft(leaseExpiresAt);
  const path = { task_id: id };
  const headers = () => ({ ...idempotencyKey(), ...ifMatch(`/v1/operator/tasks/${id}`) });
  const claim = useAction({
    run: () =>
      claimOperatorTask({ path, body: { leaseSeconds: LEASE_SECONDS }, headers: headers(), throwOnError: true }),
    // The countdown says it.
    done: () => null,
  });
  // A decision waits for the claim before it, because the claim changes the task and so its tag.
  const claimed = useRef(Promise.resolve());
  const startClaim = () => {
    const nothing = () => {};
    claimed.current = claim.mutateAsync().then(nothing, nothing);
  };
  const complete = useAction({
    run: async (outcome: TaskOutcome) => {
      await claimed.current;
      return completeOperatorTask({
        path,
        body: { outcome, ...(note !== '' && { note }) },
        headers: headers(),
        throwOnError: true,
      });
    },
    done: (_, outcome) => `Completed: ${outcome}.`,
  });
  const cancel = useAction({
    run: async () => {
      await claimed.current;
      return cancelOperatorTask({
        path,
        body: note === '' ? {} : { note },
        headers: headers(),
        throwOnError: true,
      });
    },
    done: () => 'The task was cancelled.',
  });
  const { scope, choices } = OUTCOMES[kind];
  const missing = useMissingScope(scope, task);
  const isOver = ['succeeded', 'failed', 'cancelled'].includes(status);
  const claimReason = kind === 'sync_inventory' ? 'Syncs run by themselves.' : null;
  const isForeign = status === 'claimed' && !isMine;
  const foreignReason = isForeign ? 'Another person has claimed it. Wait until the lease ends.' : null;
  const mayWrite = useMissingScope('operator_tasks:write', task) === null;
  const mayComplete = mayWrite && !isOver && foreignReason === null && missing === null && !complete.isPending;
  const completions = choices.flatMap(({ key, outcome }): [string, () => void][] =>
    key === undefined ? [] : [[key, () => mayComplete && complete.mutate(outcome)]],
  );
  useKeys({
    ...Object.fromEntries(completions),
    c: () => {
      if (mayWrite && status === 'open' && claimReason === null && !claim.isPending) startClaim();
    },
  });
  if (isOver) return <p className="dim">It has ended. Nothing is left to do.</p>;
  return (
    <div className="stack">
      {status === 'claimed' && (
        <p className={classes.lease} role="timer">
          {isMine ? 'You have it for another ' : 'Claimed for another '}
          <strong className="num">{formatDuration(seconds * 1000)}</strong>.{' '}
          {isMine && (
            <span className="dim">
              Renewed while you look at it. When you leave, others can take it after a minute.
            </span>
          )}
        </p>
      )}
      {status === 'open' && (
        <div className="qm-choices">
          <ActionButton
            scope="operator_tasks:write"
            place={task}
            disabledReason={claimReason}
            shortcut="c"
            loading={claim.isPending}
            onClick={startClaim}
          >
            Claim
          </ActionButton>
          <span>For {LEASE_SECONDS / 60} minutes, renewed while you look at it.</span>
        </div>
      )}
      {choices.length > 0 && (
        <Textarea
          aria-label="Note"
          placeholder="Why? People read it later."
          autosize
          minRows={1}
          maxRows={5}
          value={note}
          onChange={(event) => setNote(event.currentTarget.value)}
        />
      )}
      <div className="qm-choices">
        {choices.map(({ outcome, key, label, consequence }, index) => (
          <Fragment key={outcome}>
            <ActionButton
              scope="operator_tasks:write"
              place={task}
              variant={isMine && index === 0 ? 'filled' : 'default'}
              disabledReason={foreignReason ?? missing}
              {...(key !== undefined && { shortcut: key })}
              loading={complete.isPending && complete.variables === outcome}
              onClick={() => complete.mutate(outcome)}
            >
              {label}
            </ActionButton>
            <span>{consequence}</span>
          </Fragment>
        ))}
        <ActionButton
          scope="operator_tasks:write"
          place={task}
          variant="default"
          disabledReason={foreignReason}
          loading={cancel.isPending}
          onClick={() => cancel.mutate()}
        >
          Cancel the task
        </ActionButton>
        <span>Its subject does not change.</span>
      </div>
    </div>
  );
}

/** The screen that shows what the task is about. */
function SubjectLink({ task: { subject, tenantId } }: { task: OperatorTask }): ReactNode {
  const { type, id } = subject;
  if (type === 'provider') {
    return (
      <Link to="/providers/$providerId" params={{ providerId: id }}>
        the provider
      </Link>
    );
  }
  if (type === 'runtime_observation') {
    return (
      <Link to="/inbox" search={(before) => ({ tenant: before['tenant'], view: 'all', item: id })}>
        the observation
      </Link>
    );
  }
  if (type === 'service_account') {
    return (
      <Link
        to="/accounts/$accountId"
        params={{ accountId: id }}
        search={(before) => ({ tenant: before['tenant'], of: tenantId ?? undefined })}
      >
        the account
      </Link>
    );
  }
  if (type === 'tenant') {
    return (
      <Link to="/tenants/$tenantId" params={{ tenantId: id }}>
        the tenant
      </Link>
    );
  }
  if (type === 'coverage') {
    return (
      <Link to="/coverage" search={(before) => ({ tenant: before['tenant'], view: 'bypassed' })}>
        the coverage
      </Link>
    );
  }
  return <CredentialLink id={id} />;
}

/** The key on the page of its account, or the secret on that of its provider. Only text if the caller may not see it. */
function CredentialLink({ id }: { id: string }): ReactNode {
  const mayRead = holds(useMe(), 'credentials:read');
  const { data: credential } = useQuery({
    queryKey: ['credential', id],
    queryFn: async ({ signal }) => {
      const { data } = await searchCredentials({ body: { ids: [id] }, signal, throwOnError: true });
      return data.items[0] ?? null;
    },
    enabled: mayRead,
  });
  if (credential === undefined || credential === null || credential.ownerId === null) return 'the credential';
  const { ownerId, ownerType, tenantId } = credential;
  if (ownerType === 'provider') {
    return (
      <Link
        to="/providers/$providerId"
        params={{ providerId: ownerId }}
        search={(before) => ({ tenant: before['tenant'], view: 'credential' })}
      >
        the credential of the provider
      </Link>
    );
  }
  return (
    <Link
      to="/accounts/$accountId"
      params={{ accountId: ownerId }}
      search={(before) => ({ tenant: before['tenant'], of: tenantId ?? undefined, item: id })}
    >
      the key of <AccountName id={ownerId} tenantId={tenantId} />
    </Link>
  );
}
