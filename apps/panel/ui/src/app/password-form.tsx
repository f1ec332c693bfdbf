import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { TextField } from '../parts/field.js';
import { Form } from '../parts/form.js';

interface PasswordFormProps {
  email?: string;
  submit: string;
  send: (credentials: { email: string; password: string }) => Promise<unknown>;
  onDone: () => void;
}

/** Asks for the password, and for the e-mail when it is not known. */
export function PasswordForm({ email: known, submit, send, onDone }: PasswordFormProps) {
  const [email, setEmail] = useState(known ?? '');
  const [password, setPassword] = useState('');
  const sending = useMutation({ mutationFn: () => send({ email, password }), onSuccess: onDone });
  return (
    <Form submit={submit} change={sending}>
      <EmailField value={email} onText={setEmail} readOnly={known !== undefined} />
      <TextField label="Password" type="password" autoComplete="current-password" value={password} onText={setPassword} required />
    </Form>
  );
}

/** The address with which a person signs in. */
export function EmailField(props: { value: string; onText: (text: string) => void; readOnly: boolean }) {
  return <TextField label="E-mail" type="email" autoComplete="username" {...props} required />;
}
