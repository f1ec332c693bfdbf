import { useLocation, useSearch } from 'wouter';
import { Dialog } from '../parts/dialog.js';
import { Failure } from '../parts/failure.js';
import { addressWithoutFailure, ssoFailureIn } from './sso-failure.js';

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
