import { Button } from '../../parts/button.js';
import { Money } from '../../parts/money.js';
import styles from './playground.module.css';

interface ComposerProps {
  value: string;
  onChange: (value: string) => void;
  /** Pico-USD that the request holds before it starts. */
  heldAtMost: bigint;
  isRunning: boolean;
  /** False while an option has a fault. */
  isReady: boolean;
  onSend: () => void;
  onStop: () => void;
}

/** The next message, and what it costs at most. */
export function Composer({ value, onChange, heldAtMost, isRunning, isReady, onSend, onStop }: ComposerProps) {
  const maySend = isReady && !isRunning && value.trim() !== '';
  return (
    <form
      className={styles.composer}
      onSubmit={(event) => {
        event.preventDefault();
        if (maySend) onSend();
      }}
    >
      <textarea
        className={styles.message}
        aria-label="Message"
        placeholder="Write a message. Enter sends it, Shift and Enter begin a line."
        rows={2}
        value={value}
        onChange={(event) => onChange(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
          event.preventDefault();
          event.currentTarget.form?.requestSubmit();
        }}
      />
      <div className={styles.send}>
        <p className={styles.faint}>
          {isReady && (
            <>
              Holds at most <Money pico={heldAtMost} exact />
            </>
          )}
        </p>
        {isRunning ? (
          <Button onClick={onStop}>Stop</Button>
        ) : (
          <Button type="submit" look="primary" disabled={!maySend}>
            Send
          </Button>
        )}
      </div>
    </form>
  );
}
