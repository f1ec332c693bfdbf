import { Combobox } from '@base-ui/react/combobox';
import { useLocation } from 'wouter';
import { Icon } from '../parts/icon.js';
import styles from './account-switcher.module.css';
import { useSession } from './session.js';

interface Choice {
  value: string;
  label: string;
}

const ALL: Choice = { value: 'all', label: 'All accounts' };

/** Chooses the account of the pages; for people of the platform also all accounts. The page stays the same. */
export function AccountSwitcher() {
  const { account, accounts, isPlatform, hrefOf } = useSession();
  const [path, navigate] = useLocation();
  const choices = [...(isPlatform ? [ALL] : []), ...accounts.map(({ accountId, name }) => ({ value: accountId, label: name }))];
  const chosen = choices.find(({ value }) => value === account) ?? null;
  const page = /^\/a\/[^/]+\/(\w+)/.exec(path)?.[1] ?? 'overview';
  if (choices.length < 2) return <p className={styles.single}>{chosen?.label}</p>;
  return (
    <Combobox.Root
      items={choices}
      value={chosen}
      onValueChange={(choice: Choice | null) => choice && navigate(hrefOf(ofEvery(page, choice), choice.value))}
    >
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

/** Pages of one account have none for all accounts. */
function ofEvery(page: string, { value }: Choice): string {
  return value === 'all' && ['projects', 'keys', 'budgets', 'money'].includes(page) ? 'overview' : page;
}
