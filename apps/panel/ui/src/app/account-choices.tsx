import { Combobox } from '@base-ui/react/combobox';
import { Icon } from '../parts/icon.js';
import styles from './account-switcher.module.css';

export interface Choice {
  value: string;
  label: string;
}

interface AccountChoicesProps {
  choices: readonly Choice[];
  chosen: Choice | null;
  onChoose: (choice: Choice) => void;
}

/** A list of accounts with a field to find one by its name. */
export function AccountChoices({ choices, chosen, onChoose }: AccountChoicesProps) {
  return (
    <Combobox.Root items={choices} value={chosen} onValueChange={(choice: Choice | null) => choice && onChoose(choice)}>
      <Combobox.Trigger className={styles.trigger} aria-label={`Account: ${chosen?.label ?? 'none'}`}>
        <span className={styles.name}>{chosen?.label ?? 'Choose an account'}</span>
        <Icon name="chevrons" />
      </Combobox.Trigger>
      <Combobox.Portal>
        <Combobox.Positioner className={styles.positioner} align="start" sideOffset={4}>
          <Combobox.Popup className={styles.popup} aria-label="Accounts">
            <Combobox.Input className={styles.input} placeholder="Find an account" />
            <Combobox.Empty className={styles.empty}>No account has this name.</Combobox.Empty>
            <Combobox.List className={styles.list}>
              {(choice: Choice) => (
                <Combobox.Item key={choice.value} value={choice} className={styles.item}>
                  {choice.label}
                  <Combobox.ItemIndicator className={styles.indicator}>
                    <Icon name="check" />
                  </Combobox.ItemIndicator>
                </Combobox.Item>
              )}
            </Combobox.List>
          </Combobox.Popup>
        </Combobox.Positioner>
      </Combobox.Portal>
    </Combobox.Root>
  );
}
