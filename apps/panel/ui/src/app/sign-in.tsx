import { useQueryClient } from '@tanstack/react-query';
import { callOnce } from './api.js';
import { Entrance } from './entrance.js';
import { PasswordForm } from './password-form.js';

/** The page of a visitor without a session. The address stays, so that signing in shows what the link was for. */
export function SignIn() {
  const client = useQueryClient();
  return (
    <Entrance title="Sign in">
      <PasswordForm
        submit="Sign in"
        send={(body) => callOnce('POST', '/session', { body })}
        onDone={() => void client.invalidateQueries()}
      />
    </Entrance>
  );
}
