import type { ReactNode } from 'react';
import { Button } from './button.js';
import { Failure } from './failure.js';
import styles from './form.module.css';

/** The result of `useChange` or `useMutation`. */
interface FormChange {
  mutate: (input: undefined, options?: { onSuccess?: () => void }) => void;
  error: Error | null;
  isPending: boolean;
}

export interface FormProps {
  /** Text of the button that makes the change. */
  submit: string;
  change: FormChange;
  /** Called when the change is made. */
  onDone?: () => void;
  /** True while the form cannot be sent as it is. */
  disabled?: boolean;
  look?: 'primary' | 'secondary';
  /** Places the button that makes the change, beside others. */
  placeButton?: (button: ReactNode) => ReactNode;
  children: ReactNode;
}

/** A form that makes one change: its fields, the failure of the change, and its button. */
export function Form({ submit, change, onDone, disabled, look = 'primary', placeButton = (button) => button, children }: FormProps) {
  return (
    <form
      className={styles.form}
      onSubmit={(event) => {
        event.preventDefault();
        change.mutate(undefined, { onSuccess: onDone });
      }}
    >
      {children}
      {change.error && <Failure error={change.error} />}
      {placeButton(
        <Button type="submit" look={look} busy={change.isPending} disabled={disabled}>
          {submit}
        </Button>,
      )}
    </form>
  );
}
