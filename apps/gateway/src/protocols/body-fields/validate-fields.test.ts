import { IsBoolean, IsOptional, validateSync } from 'class-validator';
import fc from 'fast-check';
import { GatewayError } from '#inference/errors.js';
import { NumberBetween, PositiveInteger, RequiredText, validateFields } from './validate-fields.js';

class Fields {
  @RequiredText() model!: string;
  @NumberBetween(0, 2) temperature?: number;
  @PositiveInteger() limit?: number;
  @IsOptional() @IsBoolean() flag?: boolean;
}

const NO_MODEL = '`model` is required and must be a string that is not empty.';

function refusal(body: Record<string, unknown>): { code: string; param: string | undefined; message: string } {
  try {
    validateFields(Fields, body);
  } catch (error) {
    const { code, param, message } = error as GatewayError;
    expect(error).toBeInstanceOf(GatewayError);
    return { code, param, message };
  }
  throw new Error('It was accepted.');
}

test('declared fields are returned, undeclared ones are not read', () => {
  const huge = {
    get trap(): never {
      throw new Error('looked at');
    },
  };
  const fields = validateFields(Fields, { model: 'm', temperature: 0, flag: true, messages: huge });
  expect(fields).toEqual({ model: 'm', temperature: 0, flag: true });
});

test('null is absent [C-1]', () => {
  expect(validateFields(Fields, { model: 'm', temperature: null, limit: null, flag: null })).toEqual({ model: 'm' });
  expect(refusal({ model: null })).toEqual({ code: 'invalid_request', param: 'model', message: NO_MODEL });
});

test.each([
  [{}, 'model', NO_MODEL],
  [{ model: 5 }, 'model', NO_MODEL],
  [{ model: '' }, 'model', NO_MODEL],
  [{ model: 'm', temperature: 2.01 }, 'temperature', '`temperature` must be a number from 0 to 2.'],
  [{ model: 'm', temperature: 'warm' }, 'temperature', '`temperature` must be a number from 0 to 2.'],
  [{ model: 'm', temperature: Number.POSITIVE_INFINITY }, 'temperature', '`temperature` must be a number from 0 to 2.'],
  [{ model: 'm', limit: 0 }, 'limit', '`limit` must be a positive integer.'],
  [{ model: 'm', limit: 2 ** 53 }, 'limit', '`limit` must be a positive integer.'],
  [{ model: 'm', limit: '1' }, 'limit', '`limit` must be a positive integer.'],
  [{ model: 'm', flag: 'yes' }, 'flag', '`flag` must be a boolean value.'],
])('%j is refused at %s', (body, param, message) => {
  expect(refusal(body)).toEqual({ code: 'invalid_request', param, message });
});

test('it accepts exactly the bodies that class-validator accepts', () => {
  const value = fc.oneof(fc.jsonValue(), fc.integer({ min: -1, max: 3 }), fc.constantFrom('', 'm', true, null, undefined));
  const bodies = fc.record({ model: value, temperature: value, limit: value, flag: value }, { requiredKeys: [] });
  fc.assert(
    fc.property(bodies, (body) => {
      const present = Object.entries(body).filter(([, field]) => field !== null);
      const faults = validateSync(Object.assign(new Fields(), Object.fromEntries(present)));
      if (faults.length > 0) expect(refusal(body).param).toBe(faults[0]?.property);
      else expect(validateFields(Fields, body)).toBeInstanceOf(Fields);
    }),
  );
});
