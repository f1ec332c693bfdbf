import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { SignInRequest, SignInWays } from '../../../src/shapes/identity.js';
import { callOnce, withQuery } from '../data/api.js';
import { ButtonLink } from '../parts/button.js';
import { Form } from '../parts/dialog.js';
import { TextField } from '../parts/field.js';
import { Failure } from '../parts/page.js';
import { Entrance, Opening } from './entrance.js';
import { useSecondFactor } from './second-factor.js';
import styles from './sign-in.module.css';
import { addressWithoutFailure, ssoFailureIn } from './sso-failure.js';

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

interface PasswordFormProps {
  email?: string;
  submit: string;
  send: (credentials: SignInRequest) => Promise<unknown>;
  onDone: () => void;
}

/** Asks for the password, and for the e-mail when it is not known. */
export function PasswordForm({ email: known, submit, send, onDone }: PasswordFormProps) {
  const [email, setEmail] = useState(known ?? '');
  const [password, setPassword] = useState('');
  const { change, asked } = useSecondFactor((proof) => send({ email, password, ...proof }), onDone);
  return (
    <Form submit={submit} change={change}>
      {asked ?? (
        <>
          <EmailField value={email} onText={setEmail} readOnly={known !== undefined} />
          <TextField label="Password" type="password" autoComplete="current-password" value={password} onText={setPassword} required />
        </>
      )}
    </Form>
  );
}

/** The address with which a person signs in. */
export function EmailField(props: { value: string; onText: (text: string) => void; readOnly: boolean }) {
  return <TextField label="E-mail" type="email" autoComplete="username" {...props} required />;
}

/** The ways to sign in, asked once, when they are first wanted. */
export function useSignInWays(isWanted = true) {
  return useQuery({
    queryKey: ['sign-in-ways'],
    queryFn: () => callOnce<SignInWays>('GET', '/sso'),
    enabled: isWanted,
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/**
 * A button for each provider. The browser comes back to `returnTo`, by default this page. `confirm`: the provider asks the person again.
 * `above`: a form with a password follows.
 */
export function ProviderButtons(props: { ways: SignInWays; returnTo?: string; confirm?: boolean; above?: boolean }) {
  const { ways, returnTo = addressWithoutFailure(), confirm, above } = props;
  if (ways.providers.length === 0) return null;
  const query = { returnTo, confirm: confirm ? 'true' : null };
  return (
    <div className={styles.buttons}>
      {ways.providers.map(({ name, label }) => (
        <ButtonLink key={name} to={withQuery(`/panel/v1/sso/${name}/start`, query)} look={above ? 'secondary' : 'primary'} leaves>
          {confirm ? `Confirm with ${label}` : `Sign in with ${label}`}
        </ButtonLink>
      ))}
      {above && <p className={styles.or}>or</p>}
    </div>
  );
}
