import { useEffect, useState } from 'react';

/** Returns a value after it has not changed for a while: the last one until then. */
export function useDebounced<Value>(value: Value, ms = 200): Value {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return settled;
}
