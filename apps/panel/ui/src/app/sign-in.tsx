import { useQueryClient } from '@tanstack/react-query';
import { callOnce } from '../data/api.js';
import { Failure } from '../parts/failure.js';
import { Entrance } from './entrance.js';
import { Opening } from './opening.js';
import { PasswordForm } from './password-form.js';
import { ProviderButtons, useSignInWays } from './provider-buttons.js';
import { ssoFailureIn } from './sso-failure.js';

/** The page of a visitor without a session. The address stays, so that signing in shows what the link was for. */
export function SignIn() {
  const client = useQueryClient();
  const { data: ways } = useSignInWays();
  const failure = ssoFailureIn(location.search);
  if (!ways) return <Opening title="Sign in" />;
  return (
    <Entrance title="Sign in">
      {failure && <Failure error={failure} />}
      <ProviderButtons ways={ways} above={ways.passwords} />
      {ways.passwords && (
        <PasswordForm
          submit="Sign in"
          send={(body) => callOnce('POST', '/session', { body })}
          onDone={() => void client.invalidateQueries()}
        />
      )}
    </Entrance>
  );
}
