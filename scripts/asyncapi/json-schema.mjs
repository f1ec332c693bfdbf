import { relative } from 'node:path';
import ts from 'typescript';
import { SIGNED_USD, USD } from '../../libs/money/src/pico-usd.ts';

/** Converts TypeScript types to JSON schemas. A named type of the repository is written once and referenced. */
export class SchemaWriter {
  #checker;
  #named = new Map();

  constructor(checker) {
    this.#checker = checker;
  }

  /** The named schemas so far, by name. */
  schemas() {
    return Object.fromEntries([...this.#named].map(([name, { schema }]) => [name, schema]).sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  renderSchema(type) {
    const symbol = type.aliasSymbol ?? type.getSymbol();
    const name = symbol && isOurs(symbol) && !symbol.name.startsWith('__') ? symbol.name : undefined;
    if (!name || type.isLiteral()) return this.#inline(type);
    const known = this.#named.get(name);
    if (known && known.symbol !== symbol) throw new Error(`two types are called ${name}`);
    if (!known) {
      const entry = { symbol, schema: {} };
      this.#named.set(name, entry); // set before its fields, which may refer to it
      Object.assign(entry.schema, described(symbol, this.#checker), this.#inline(type));
    }
    return { $ref: `#/components/schemas/${name}` };
  }

  #inline(type) {
    const { flags } = type;
    if (flags & ts.TypeFlags.StringLiteral) return { type: 'string', const: type.value };
    if (flags & ts.TypeFlags.String) return { type: 'string' };
    if (flags & ts.TypeFlags.Number) return { type: 'number' };
    if (flags & ts.TypeFlags.Null) return { type: 'null' };
    if (flags & ts.TypeFlags.BooleanLiteral) return { type: 'boolean', const: this.#checker.typeToString(type) === 'true' };
    if (flags & ts.TypeFlags.Boolean) return { type: 'boolean' };
    if (flags & (ts.TypeFlags.Unknown | ts.TypeFlags.Any)) return {};
    if (type.isUnion()) return this.#union(type);
    if (this.#checker.isArrayType(type)) return { type: 'array', items: this.renderSchema(this.#checker.getTypeArguments(type)[0]) };
    if (flags & ts.TypeFlags.Object || type.isIntersection()) return this.#object(type);
    throw new Error(`no schema for ${this.#checker.typeToString(type)}`);
  }

  /** Ignores `undefined`, which stands for an optional property. */
  #union(type) {
    const members = type.types.filter(({ flags }) => !(flags & ts.TypeFlags.Undefined));
    if (members.every(({ flags }) => flags & ts.TypeFlags.StringLiteral))
      return { type: 'string', enum: members.map(({ value }) => value) };
    if (members.every(({ flags }) => flags & ts.TypeFlags.BooleanLiteral)) return { type: 'boolean' };
    if (members.length === 1) return this.renderSchema(members[0]);
    const some = members.filter(({ flags }) => !(flags & ts.TypeFlags.Null)).map((member) => this.renderSchema(member));
    if (some.length === members.length) return { oneOf: some };
    const [only] = some;
    if (some.length === 1 && typeof only.type === 'string') return { ...only, type: [only.type, 'null'] };
    const words = some.every(({ const: word }) => typeof word === 'string');
    return words
      ? { type: ['string', 'null'], enum: [...some.map(({ const: word }) => word), null] }
      : { oneOf: [...some, { type: 'null' }] };
  }

  #object(type) {
    const index = this.#checker.getIndexInfosOfType(type)[0];
    if (index) return { type: 'object', additionalProperties: this.renderSchema(index.type) };
    const properties = this.#checker
      .getPropertiesOfType(type)
      .filter((property) => property.valueDeclaration || property.declarations?.length);
    const required = properties.filter(({ flags }) => !(flags & ts.SymbolFlags.Optional)).map(({ name }) => name);
    return {
      type: 'object',
      properties: Object.fromEntries(properties.map((property) => [property.name, this.#property(property)])),
      ...(required.length > 0 && { required }),
    };
  }

  #property(property) {
    const declaration = property.valueDeclaration ?? property.declarations[0];
    const schema = this.renderSchema(this.#checker.getTypeOfSymbolAtLocation(property, declaration));
    const rules = (ts.canHaveDecorators(declaration) ? (ts.getDecorators(declaration) ?? []) : []).map((decorator) =>
      this.#rule(decorator.expression),
    );
    const about = described(property, this.#checker);
    if (schema.$ref) return about.description ? { allOf: [schema], ...about } : schema;
    const each = Object.assign({}, ...rules.map(({ each }) => each));
    const items = schema.items && !schema.items.$ref ? { items: { ...schema.items, ...each } } : {};
    return { ...about, ...schema, ...amount(property.name, schema), ...Object.assign({}, ...rules.map(({ own }) => own)), ...items };
  }

  /** Rule of a class-validator decorator, for the value or for each item of a list. */
  #rule({ expression, arguments: args = [] }) {
    const name = expression.getText();
    const values = args.map((argument) => this.#value(argument));
    const rule = RULES[name]?.(...values) ?? {};
    if (!RULES[name] && !SILENT.has(name))
      throw new Error(`the decorator ${name} is neither in RULES nor in SILENT of scripts/asyncapi/json-schema.mjs`);
    return values.some((value) => value?.each) ? { each: rule } : { own: rule };
  }

  /** Evaluates literals, constants and simple arithmetic. */
  #value(node) {
    if (ts.isNumericLiteral(node)) return Number(node.text.replaceAll('_', ''));
    if (ts.isRegularExpressionLiteral(node)) return { pattern: node.text.replace(/^\/(.*)\/[a-z]*$/, '$1') };
    if (ts.isBinaryExpression(node)) return evaluate(this.#value(node.left), node.operatorToken.getText(), this.#value(node.right));
    if (ts.isObjectLiteralExpression(node)) return { each: node.properties.some((property) => property.name?.getText() === 'each') };
    if (!ts.isIdentifier(node)) return undefined;
    let symbol = this.#checker.getSymbolAtLocation(node);
    if (symbol && symbol.flags & ts.SymbolFlags.Alias) symbol = this.#checker.getAliasedSymbol(symbol);
    const initializer = symbol?.valueDeclaration?.initializer;
    return initializer ? this.#value(initializer) : undefined;
  }
}

const RULES = {
  Id: () => ({ format: 'uuid' }),
  IsInt: () => ({ type: 'integer' }),
  Min: (minimum) => ({ minimum }),
  Max: (maximum) => ({ maximum }),
  Length: (minLength, maxLength) => ({ minLength, maxLength }),
  Text: (maxLength) => ({ minLength: 1, maxLength }),
  Matches: ({ pattern }) => ({ pattern }),
  Usd: () => ({ pattern: USD.source, examples: ['2.50', '1,234.50'] }),
  SignedUsd: () => ({ pattern: SIGNED_USD.source, examples: ['2.50', '-2.50'] }),
  Instant: () => ({ examples: ['2027-01-31', '2027-01-31T12:00:00Z'] }),
  ArrayMaxSize: (maxItems) => ({ maxItems }),
  ArrayMinSize: (minItems) => ({ minItems }),
  NestedList: (_type, maxItems) => ({ maxItems }),
  ModelPatterns: () => ({ maxItems: 64, examples: [['gpt-*']] }),
  Networks: () => ({ maxItems: 64, examples: [['10.0.0.0/8']] }),
  TagNames: () => ({ maxItems: 16, examples: [['team']] }),
  AttributionOf: () => ({ maxProperties: 19, examples: [{ user: 'alice', client: 'OpenAI/Python', 'tag:team': 'search' }] }),
  AttributionValue: () => ({ minLength: 1, maxLength: 256 }),
  ArrayUnique: () => ({ uniqueItems: true }),
};
/** Decorators that repeat the type, or that a schema cannot express. */
const SILENT = new Set([
  'IsString',
  'IsBoolean',
  'IsArray',
  'IsObject',
  'IsIn',
  'IsOptional',
  'NormalizedValue',
  'Clearable',
  'Nested',
  'Transform',
  'Satisfies',
  'ValidateBy',
]);

function evaluate(left, operator, right) {
  if (operator === '**') return left ** right;
  if (operator === '-') return left - right;
  throw new Error(`no value for ${operator}`);
}

/** Amounts are integers in strings. */
function amount(name, { type }) {
  const isText = type === 'string' || (Array.isArray(type) && type.includes('string'));
  return isText && /PicoUsd$|_pico_usd$|^expiredHeld$/.test(name) ? { pattern: '^-?\\d+$' } : {};
}

function described(symbol, checker) {
  const description = ts.displayPartsToString(symbol.getDocumentationComment(checker));
  return description ? { description } : {};
}

function isOurs(symbol) {
  return (symbol.declarations ?? []).some((declaration) => /^(apps|libs)\//.test(relative('.', declaration.getSourceFile().fileName)));
}
