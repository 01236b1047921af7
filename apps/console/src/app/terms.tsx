import { updateMyProfile } from '@quartermaster/client';
import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import { useAction } from '../components/use-action.ts';
import { useMe } from '../data/me.ts';
import classes from './shell.module.css';

/** The first thing that a new user sees: without consent the API answers nothing else. */
export function Terms(): ReactNode {
  const me = useMe();
  const accept = useAction({
    run: () => updateMyProfile({ body: { terms: { accepted: true } }, throwOnError: true }),
    done: () => 'You accepted the terms.',
  });
  return (
    <main className={classes.alone}>
      <div className="stack">
        <h1>Welcome, {me.displayName ?? me.email ?? me.id}</h1>
        <p>Before you can use Quartermaster, you need to accept the terms of your organization.</p>
        <div>
          <Button size="sm" loading={accept.isPending} onClick={() => accept.mutate()}>
            Accept the terms
          </Button>
        </div>
      </div>
    </main>
  );
}
