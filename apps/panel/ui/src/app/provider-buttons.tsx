import { useQuery } from '@tanstack/react-query';
import type { SignInWays } from '../../../src/shapes/sso.js';
import { callOnce, withQuery } from '../data/api.js';
import { ButtonLink } from '../parts/button.js';
import styles from './provider-buttons.module.css';
import { addressWithoutFailure } from './sso-failure.js';

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
