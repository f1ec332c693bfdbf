import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useLocation } from 'wouter';
import type { InviteAcceptBody, InviteView, Me } from '../../../src/api/shapes/identity.js';
import { Button } from '../parts/button.js';
import { Failure } from '../parts/failure.js';
import { TextField } from '../parts/field.js';
import { callOnce } from './api.js';
import { Entrance } from './entrance.js';
import styles from './password-form.module.css';
import { isUnreachable } from './use-api.js';

const PASSWORD_LENGTH_MIN = 12;

const PASSWORDS = {
  new: { label: 'Password', hint: '12 characters or more. A few unrelated words are easy to remember.', autoComplete: 'new-password' },
  'new-password': { label: 'New password', hint: '12 characters or more. It replaces your present one.', autoComplete: 'new-password' },
  'sign-in': { label: 'Password', hint: 'Your present one.', autoComplete: 'current-password' },
} as const;

/** The page of an invite link. Its secret is in the fragment, which browsers send to no server. */
export function Welcome() {
  // Read once: the fragment leaves the address, so that no history keeps it.
  const [token] = useState(readToken);
  const invite = useQuery({
    queryKey: ['invite', token],
    queryFn: () => callOnce<InviteView>('POST', '/invites/show', { body: { token } }),
    enabled: token !== '',
    retry: (_, error) => isUnreachable(error),
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (!token)
    return <Entrance title="This link is incomplete" about="The part after # is missing. Copy the whole link, or ask for a new one." />;
  if (invite.error) {
    return (
      <Entrance title="This link does not work" about="It works once, within 24 hours. Ask for a new one, or sign in.">
        <Failure error={invite.error} />
        <a href={import.meta.env.BASE_URL}>Sign in</a>
      </Entrance>
    );
  }
  return invite.data ? <AcceptForm token={token} invite={invite.data} /> : null;
}

function AcceptForm({ token, invite }: { token: string; invite: InviteView }) {
  const [email, setEmail] = useState(invite.email ?? '');
  const [name, setName] = useState('');
  const [password, setPassword] = useState('');
  const client = useQueryClient();
  const [, navigate] = useLocation();
  const isNew = invite.password === 'new';
  const body: InviteAcceptBody = { token, password, ...(invite.email === null && { email }), ...(isNew && name && { name }) };
  const accepting = useMutation({
    mutationFn: () => callOnce<Me>('POST', '/invites/accept', { body }),
    onSuccess: () => {
      client.removeQueries({ queryKey: ['start'] });
      navigate('/', { replace: true });
    },
  });
  const passwordTexts = PASSWORDS[invite.password];
  return (
    <Entrance title="Welcome" about={isNew ? 'Choose how you sign in from now on.' : 'Sign in to accept the invite.'}>
      <form
        className={styles.form}
        onSubmit={(event) => {
          event.preventDefault();
          accepting.mutate();
        }}
      >
        <TextField
          label="E-mail"
          type="email"
          autoComplete="username"
          value={email}
          onChange={(event) => setEmail(event.target.value)}
          readOnly={invite.email !== null}
          required
        />
        {isNew && <TextField label="Name" autoComplete="name" value={name} onChange={(event) => setName(event.target.value)} />}
        <TextField
          {...passwordTexts}
          type="password"
          minLength={invite.password === 'sign-in' ? undefined : PASSWORD_LENGTH_MIN}
          maxLength={256}
          value={password}
          onChange={(event) => setPassword(event.target.value)}
          required
        />
        {accepting.error && <Failure error={accepting.error} />}
        <Button type="submit" look="primary" busy={accepting.isPending}>
          Go on
        </Button>
      </form>
    </Entrance>
  );
}

function readToken(): string {
  const token = location.hash.slice(1);
  // React's strict mode reads twice in development: the history entry keeps it until the page is left.
  if (token) history.replaceState({ token }, '', location.pathname);
  return token || ((history.state as { token?: string } | null)?.token ?? '');
}
