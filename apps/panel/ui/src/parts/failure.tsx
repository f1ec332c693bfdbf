import { ApiError, isTransient } from '../data/api.js';
import { Button } from './button.js';
import styles from './failure.module.css';
import { Icon } from './icon.js';

/** An error in place of what could not be loaded or done, with the id that finds the call in the log. */
export function Failure({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const { message, requestId } = error instanceof ApiError ? error : { message: 'The page met a fault of its own.', requestId: null };
  return (
    <div role="alert" className={styles.failure}>
      <Icon name="warning" />
      <div className={styles.text}>
        <p>{onRetry && isTransient(error) ? `${message} Trying again.` : message}</p>
        {requestId && (
          <p className={styles.id}>
            Request id <code>{requestId}</code>
          </p>
        )}
      </div>
      {onRetry && (
        <Button look="quiet" onClick={onRetry}>
          Try again
        </Button>
      )}
    </div>
  );
}
