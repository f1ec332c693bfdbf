import { useSyncExternalStore } from 'react';
import { Button } from '../parts/button.js';
import { Dialog, DialogActions } from '../parts/dialog.js';
import { callOnce } from './api.js';
import { currentInterruption, endInterruption, onInterruption } from './interruption.js';
import { PasswordForm } from './password-form.js';

/** The dialogs that calls wait for: a session that has ended, and a change that needs the password again. */
export function Interruptions({ email }: { email: string }) {
  const kind = useSyncExternalStore(onInterruption, currentInterruption);
  if (!kind) return null;
  const isConfirmation = kind === 'confirm';
  return (
    <Dialog
      key={kind}
      title={isConfirmation ? 'Confirm that it is you' : 'Your session has ended'}
      onClose={isConfirmation ? () => endInterruption(false) : undefined}
    >
      <p>
        {isConfirmation
          ? 'This change needs your password, because you signed in more than 10 minutes ago.'
          : 'Sign in again. The page then goes on where it was.'}
      </p>
      <PasswordForm
        email={email}
        submit={isConfirmation ? 'Confirm' : 'Sign in'}
        send={(body) =>
          isConfirmation
            ? callOnce('POST', '/session/confirm', { body: { password: body.password } })
            : callOnce('POST', '/session', { body })
        }
        onDone={() => endInterruption(true)}
      />
      {!isConfirmation && (
        <DialogActions>
          <Button look="quiet" onClick={() => location.assign(import.meta.env.BASE_URL)}>
            Sign in as another person
          </Button>
        </DialogActions>
      )}
    </Dialog>
  );
}
