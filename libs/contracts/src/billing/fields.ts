/** An integer of pico-USD, as a string. */
export const PICO_USD = /^\d{1,38}$/;
/** Dollars as a decimal string, exact to the pico-dollar. */
export const USD = /^\d{1,15}(\.\d{1,12})?$/;
export const TOKENS_MAX = 2 ** 31 - 1;
