import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { PASSWORD_LENGTH_MAX, PASSWORD_LENGTH_MIN } from '#contracts/rules/bounds.js';
import type { InviteAcceptRequest, InviteView, Me, SignInWays } from '../../../src/shapes/identity.js';
import { ApiError, callOnce } from '../data/api.js';
import { Form } from '../parts/dialog.js';
import { TextField } from '../parts/field.js';
import { Failure } from '../parts/page.js';
import { Entrance, Opening } from './entrance.js';
import { useSecondFactor } from './second-factor.js';
import { EmailField, ProviderButtons, useSignInWays } from './sign-in.js';

/** Errors that mean that the link is no longer good. */
const LINK_FAULTS: ApiError['code'][] = ['not_found', 'invalid_request', 'invalid_credentials', 'conflict'];

/** Texts of the form, by the password that the link needs. */
const PASSWORDS = {
  'new-password': {
    label: 'New password',
    hint: '12 characters or more. A few unrelated words are easy to remember. It replaces the one that you may have.',
    autoComplete: 'new-password',
  },
  'new-or-present': {
    label: 'Password',
    hint: 'If you have one here, that one. Otherwise choose 12 characters or more.',
    autoComplete: 'current-password',
  },
  'sign-in': { label: 'Password', hint: 'If you have one here.', autoComplete: 'current-password' },
} as const;

/** The page of an invite link. Its secret is in the fragment, which browsers send to no server. */
export function Welcome() {
  // Read once: the fragment leaves the address, so that no history keeps it.
  const [token] = useState(readToken);
  const invite = useQuery({
    queryKey: ['invite', token],
    queryFn: () => callOnce<InviteView>('POST', '/invites/show', { body: { token } }),
    enabled: token !== '',
    staleTime: Number.POSITIVE_INFINITY,
    meta: { handles: LINK_FAULTS },
  });
  const { data: ways } = useSignInWays();
  if (!token)
    return <Entrance title="This link is incomplete" about="The part after # is missing. Copy the whole link, or ask for a new one." />;
  if (invite.error instanceof ApiError && LINK_FAULTS.includes(invite.error.code)) {
    return (
      <Entrance title="This link does not work" about="It works once, within 24 hours. Ask for a new one, or sign in.">
        <Failure error={invite.error} />
        <a href={import.meta.env.BASE_URL}>Sign in</a>
      </Entrance>
    );
  }
  if (!invite.data || !ways) return <Opening title="Welcome" />;
  const { password } = invite.data;
  return password === 'none' ? (
    <AcceptWithProvider ways={ways} email={invite.data.email} />
  ) : (
    <AcceptForm token={token} invite={{ ...invite.data, password }} ways={ways} />
  );
}

/** Leads to the providers: the sign-in with the e-mail of the invite accepts it. */
function AcceptWithProvider({ ways, email }: { ways: SignInWays; email: string | null }) {
  if (email === null)
    return <Entrance title="This link does not work" about="It names no e-mail address, and passwords are off. Ask for one that does." />;
  return (
    <Entrance title="Welcome" about={`Sign in as ${email} to accept the invite.`}>
      <ProviderButtons ways={ways} returnTo={import.meta.env.BASE_URL} />
    </Entrance>
  );
}

interface InviteWithPassword extends InviteView {
  password: keyof typeof PASSWORDS;
}

function AcceptForm({ token, invite, ways }: { token: string; invite: InviteWithPassword; ways: SignInWays }) {
  const [email, setEmail] = useState(invite.email ?? '');
  const [name, setName] = useState('');
  const [password, setPassword] = useState('');
  const client = useQueryClient();
  const [, navigate] = useLocation();
  const mayBeNew = invite.password !== 'sign-in';
  const body: InviteAcceptRequest = { token, password, ...(invite.email === null && { email }), ...(mayBeNew && name && { name }) };
  const { change, asked } = useSecondFactor(
    (proof) => callOnce<Me>('POST', '/invites/accept', { body: { ...body, ...proof } }),
    () => {
      client.removeQueries({ queryKey: ['start'] });
      navigate('/', { replace: true });
    },
  );
  const passwordTexts = PASSWORDS[invite.password];
  return (
    <Entrance title="Welcome" about={mayBeNew ? 'Choose how you sign in from now on.' : 'Sign in to accept the invite.'}>
      {invite.email !== null && <ProviderButtons ways={ways} returnTo={import.meta.env.BASE_URL} above />}
      <Form submit="Continue" change={change}>
        {asked ?? (
          <>
            <EmailField value={email} onText={setEmail} readOnly={invite.email !== null} />
            {mayBeNew && <TextField label="Name" autoComplete="name" hint="If you are new here." value={name} onText={setName} />}
            <TextField
              {...passwordTexts}
              type="password"
              minLength={invite.password === 'new-password' ? PASSWORD_LENGTH_MIN : undefined}
              maxLength={PASSWORD_LENGTH_MAX}
              value={password}
              onText={setPassword}
              required
            />
          </>
        )}
      </Form>
    </Entrance>
  );
}

function readToken(): string {
  const token = location.hash.slice(1);
  // React's strict mode reads twice in development: the history entry keeps it until the page is left.
  if (token) history.replaceState({ token }, '', location.pathname);
  return token || ((history.state as { token?: string } | null)?.token ?? '');
}
