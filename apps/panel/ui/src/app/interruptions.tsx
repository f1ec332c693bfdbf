import { useSyncExternalStore } from 'react';
import { useLocation, useSearch } from 'wouter';
import type { Me } from '../../../src/shapes/identity.js';
import { callOnce } from '../data/api.js';
import { currentInterruption, endInterruption, onInterruption } from '../data/interruption.js';
import { Button } from '../parts/button.js';
import { Dialog, DialogActions } from '../parts/dialog.js';
import { Failure } from '../parts/page.js';
import { PasswordForm, ProviderButtons, useSignInWays } from './sign-in.js';
import { addressWithoutFailure, ssoFailureIn } from './sso-failure.js';

/** The dialogs that calls wait for: a session that has ended, and a change that needs the password again. */
export function Interruptions({ me: { email, hasPassword } }: { me: Me }) {
  const kind = useSyncExternalStore(onInterruption, currentInterruption);
  const { data: ways } = useSignInWays(kind !== undefined);
  if (!kind || !ways) return null;
  const isConfirmation = kind === 'confirm';
  return (
    <Dialog
      key={kind}
      title={isConfirmation ? 'Confirm that it is you' : 'Your session has ended'}
      onClose={isConfirmation ? () => endInterruption(false) : undefined}
    >
      <p>
        {isConfirmation
          ? 'This change needs a new proof that it is you, because you signed in more than 10 minutes ago.'
          : 'Sign in again. The page then goes on where it was.'}
        {isConfirmation && ways.providers.length > 0 && ' If you confirm with a provider, make the change again afterwards.'}
      </p>
      <ProviderButtons ways={ways} confirm={isConfirmation} above={hasPassword} />
      {hasPassword && (
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
      )}
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

/** Tells a signed-in person that a confirmation with a provider has failed. The page stays. */
export function SsoFailureDialog() {
  const failure = ssoFailureIn(useSearch());
  const [, navigate] = useLocation();
  if (!failure) return null;
  const page = addressWithoutFailure().slice(import.meta.env.BASE_URL.length - 1);
  return (
    <Dialog title="The confirmation has failed" onClose={() => navigate(page, { replace: true })}>
      <Failure error={failure} />
    </Dialog>
  );
}
