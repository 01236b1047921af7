import { Button, Modal } from '@mantine/core';
import type { ReactNode } from 'react';
import { signInUrl, useSessionEnded } from '../data/session.ts';

/** One dialog in the place of a page full of refusals. After the sign-in the browser comes back to the same view. */
export function SessionEnded(): ReactNode {
  const isEnded = useSessionEnded();
  return (
    <Modal opened={isEnded} onClose={() => {}} withCloseButton={false} title="Your session has ended">
      <div className="stack">
        <p>Sign in again to continue. You come back to this view.</p>
        <Button onClick={() => window.location.assign(signInUrl())} data-autofocus>
          Sign in
        </Button>
      </div>
    </Modal>
  );
}
