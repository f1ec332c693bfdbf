import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import type { SecondProof } from '../../../src/shapes/identity.js';
import { ApiError } from '../data/api.js';
import { Button } from '../parts/button.js';
import { TextField } from '../parts/field.js';

/**
 * Sends credentials, and asks for the second factor when the panel demands it. `asked`: the fields that then take the place of the others;
 * undefined until then. The credentials are sent again with the factor.
 */
export function useSecondFactor(send: (proof: SecondProof) => Promise<unknown>, onDone: () => void) {
  const [ways, setWays] = useState<readonly string[]>();
  const [code, setCode] = useState('');
  const sending = useMutation({
    mutationFn: (prove: () => Promise<SecondProof>) => prove().then(send),
    onSuccess: onDone,
    onError: (error) => {
      const { ways: needed } = readDemand(error);
      if (needed) setWays(needed.split(' '));
    },
  });
  const error = readDemand(sending.error).ways === undefined ? sending.error : null;
  const change = {
    isPending: sending.isPending,
    error,
    mutate: () => sending.mutate(async () => (code === '' ? {} : { code })),
  };
  const askPasskey = async (): Promise<SecondProof> => {
    // Each question is good for one answer.
    const error = await send({}).then(
      () => null,
      (refusal: unknown) => refusal,
    );
    const { passkeyOptions } = readDemand(error);
    if (passkeyOptions === undefined) throw error ?? new Error('The panel asks for no passkey any more. Sign in again.');
    const { startAuthentication } = await import('@simplewebauthn/browser');
    const answer = await startAuthentication({ optionsJSON: JSON.parse(passkeyOptions) }).catch(() => {
      throw new Error('The browser gave no passkey. Try again, or type a code.');
    });
    return { passkey: JSON.stringify(answer) };
  };
  const asked: ReactNode = ways && (
    <>
      {ways.includes('passkey') && (
        <Button look="secondary" busy={sending.isPending} onClick={() => sending.mutate(askPasskey)}>
          Use a passkey
        </Button>
      )}
      <TextField
        label="Code"
        hint="The six digits of your app, or a recovery code."
        autoComplete="one-time-code"
        autoFocus
        value={code}
        onText={setCode}
        required
      />
    </>
  );
  return { change, asked };
}

/** Details of the error that demands a second factor; none of any other. */
function readDemand(error: unknown): { ways?: string; passkeyOptions?: string } {
  return error instanceof ApiError && error.code === 'second_factor_required' ? error.details : {};
}
