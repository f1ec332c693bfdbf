import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { Button } from '../parts/button.js';
import { Failure } from '../parts/failure.js';
import { TextField } from '../parts/field.js';
import styles from '../parts/password-form.module.css';

export interface Credentials {
  email: string;
  password: string;
}

/** Asks for the password, and for the e-mail when it is not known. */
export function PasswordForm(props: {
  email?: string;
  submit: string;
  send: (credentials: Credentials) => Promise<unknown>;
  onDone: () => void;
}) {
  const { submit, send, onDone } = props;
  const [email, setEmail] = useState(props.email ?? '');
  const [password, setPassword] = useState('');
  const sending = useMutation({ mutationFn: () => send({ email, password }), onSuccess: onDone });
  return (
    <form
      className={styles.form}
      onSubmit={(event) => {
        event.preventDefault();
        sending.mutate();
      }}
    >
      <TextField
        label="E-mail"
        type="email"
        autoComplete="username"
        value={email}
        onChange={(event) => setEmail(event.target.value)}
        readOnly={props.email !== undefined}
        required
      />
      <TextField
        label="Password"
        type="password"
        autoComplete="current-password"
        value={password}
        onChange={(event) => setPassword(event.target.value)}
        required
      />
      {sending.error && <Failure error={sending.error} />}
      <Button type="submit" look="primary" busy={sending.isPending}>
        {submit}
      </Button>
    </form>
  );
}
