import { relative } from 'node:path';
import ts from 'typescript';
import { SIGNED_USD, USD } from '../../libs/money/src/pico-usd.ts';

/** A JSON schema. */
export interface Schema {
  $ref?: string;
  type?: string | (string | undefined)[];
  const?: unknown;
  enum?: unknown[];
  items?: Schema;
  allOf?: Schema[];
  oneOf?: Schema[];
  properties?: Record<string, Schema>;
  additionalProperties?: Schema;
  required?: string[];
  description?: string;
  [rule: string]: unknown;
}

/** A value in the arguments of a decorator. `each`: its rule is for the items of a list. */
type Argument = number | { pattern?: string; each?: boolean } | undefined;

/** Converts TypeScript types to JSON schemas. A named type of the repository is written once and referenced. */
export class SchemaWriter {
  private readonly checker: ts.TypeChecker;
  private readonly named = new Map<string, { symbol: ts.Symbol; schema: Schema }>();

  constructor(checker: ts.TypeChecker) {
    this.checker = checker;
  }

  /** The named schemas so far, by name. */
  schemas(): Record<string, Schema> {
    return Object.fromEntries([...this.named].map(([name, { schema }]) => [name, schema] as const).sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  renderSchema(type: ts.Type): Schema {
    const symbol = type.aliasSymbol ?? type.getSymbol();
    if (!symbol || !isOurs(symbol) || symbol.name.startsWith('__') || type.isLiteral()) return this.inline(type);
    const { name } = symbol;
    const known = this.named.get(name);
    if (known && known.symbol !== symbol) throw new Error(`two types are called ${name}`);
    if (!known) {
      const entry = { symbol, schema: {} };
      this.named.set(name, entry); // set before its fields, which may refer to it
      Object.assign(entry.schema, described(symbol, this.checker), this.inline(type));
    }
    return { $ref: `#/components/schemas/${name}` };
  }

  private inline(type: ts.Type): Schema {
    const { flags } = type;
    if (type.isStringLiteral()) return { type: 'string', const: type.value };
    if (flags & ts.TypeFlags.String) return { type: 'string' };
    if (flags & ts.TypeFlags.Number) return { type: 'number' };
    if (flags & ts.TypeFlags.Null) return { type: 'null' };
    if (flags & ts.TypeFlags.BooleanLiteral) return { type: 'boolean', const: this.checker.typeToString(type) === 'true' };
    if (flags & ts.TypeFlags.Boolean) return { type: 'boolean' };
    if (flags & (ts.TypeFlags.Unknown | ts.TypeFlags.Any)) return {};
    if (type.isUnion()) return this.union(type);
    if (this.checker.isArrayType(type)) return { type: 'array', items: this.renderSchema(this.itemType(type)) };
    if (flags & ts.TypeFlags.Object || type.isIntersection()) return this.object(type);
    throw new Error(`no schema for ${this.checker.typeToString(type)}`);
  }

  private itemType(list: ts.Type): ts.Type {
    const [item] = this.checker.getTypeArguments(list as ts.TypeReference);
    if (!item) throw new Error(`no items of ${this.checker.typeToString(list)}`);
    return item;
  }

  /** Ignores `undefined`, which stands for an optional property. */
  private union(type: ts.UnionType): Schema {
    const members = type.types.filter(({ flags }) => !(flags & ts.TypeFlags.Undefined));
    if (members.every((member) => member.isStringLiteral())) return { type: 'string', enum: members.map(({ value }) => value) };
    if (members.every(({ flags }) => flags & ts.TypeFlags.BooleanLiteral)) return { type: 'boolean' };
    const [first] = members;
    if (first && members.length === 1) return this.renderSchema(first);
    const some = members.filter(({ flags }) => !(flags & ts.TypeFlags.Null)).map((member) => this.renderSchema(member));
    if (some.length === members.length) return { oneOf: some };
    const [only] = some;
    if (some.length === 1 && typeof only?.type === 'string') return { ...only, type: [only.type, 'null'] };
    const words = some.every(({ const: word }) => typeof word === 'string');
    return words
      ? { type: ['string', 'null'], enum: [...some.map(({ const: word }) => word), null] }
      : { oneOf: [...some, { type: 'null' }] };
  }

  private object(type: ts.Type): Schema {
    const index = this.checker.getIndexInfosOfType(type)[0];
    if (index) return { type: 'object', additionalProperties: this.renderSchema(index.type) };
    const properties = this.checker
      .getPropertiesOfType(type)
      .filter((property) => property.valueDeclaration || property.declarations?.length);
    const required = properties.filter((property) => !isOptional(property)).map(({ name }) => name);
    return {
      type: 'object',
      properties: Object.fromEntries(properties.map((property) => [property.name, this.property(property)])),
      ...(required.length > 0 && { required }),
    };
  }

  private property(property: ts.Symbol): Schema {
    const declaration = property.valueDeclaration ?? property.declarations?.[0];
    if (!declaration) throw new Error(`${property.name} has no declaration`);
    const schema = this.renderSchema(this.checker.getTypeOfSymbolAtLocation(property, declaration));
    const rules = (ts.canHaveDecorators(declaration) ? (ts.getDecorators(declaration) ?? []) : []).map((decorator) =>
      this.rule(decorator.expression),
    );
    const about = described(property, this.checker);
    if (schema.$ref) return about.description ? { allOf: [schema], ...about } : schema;
    const each = Object.assign({}, ...rules.map(({ each }) => each));
    const items = schema.items && !schema.items.$ref ? { items: { ...schema.items, ...each } } : {};
    return { ...about, ...schema, ...amount(property.name, schema), ...Object.assign({}, ...rules.map(({ own }) => own)), ...items };
  }

  /** Rule of a class-validator decorator, for the value or for each item of a list. */
  private rule(decorator: ts.Expression): { own?: Schema; each?: Schema } {
    const { expression, arguments: args } = decorator as ts.CallExpression;
    const name = expression.getText();
    const values = args.map((argument) => this.value(argument));
    const rule = RULES[name]?.(...values) ?? {};
    if (!RULES[name] && !SILENT.has(name))
      throw new Error(`the decorator ${name} is neither in RULES nor in SILENT of scripts/asyncapi/json-schema.ts`);
    return values.some((value) => typeof value === 'object' && value.each) ? { each: rule } : { own: rule };
  }

  /** Evaluates literals, constants and simple arithmetic. */
  private value(node: ts.Node): Argument {
    if (ts.isNumericLiteral(node)) return Number(node.text.replaceAll('_', ''));
    if (ts.isRegularExpressionLiteral(node)) return { pattern: node.text.replace(/^\/(.*)\/[a-z]*$/, '$1') };
    if (ts.isBinaryExpression(node)) return evaluate(this.value(node.left), node.operatorToken.getText(), this.value(node.right));
    if (ts.isObjectLiteralExpression(node)) return { each: node.properties.some((property) => property.name?.getText() === 'each') };
    if (!ts.isIdentifier(node)) return undefined;
    let symbol = this.checker.getSymbolAtLocation(node);
    if (symbol && symbol.flags & ts.SymbolFlags.Alias) symbol = this.checker.getAliasedSymbol(symbol);
    const declaration = symbol?.valueDeclaration;
    return declaration && ts.isVariableDeclaration(declaration) && declaration.initializer
      ? this.value(declaration.initializer)
      : undefined;
  }
}

// biome-ignore lint/suspicious/noExplicitAny: each takes the arguments of its decorator.
const RULES: Record<string, (...values: any[]) => Schema> = {
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
  Day: () => ({ format: 'date' }),
  ArrayMaxSize: (maxItems) => ({ maxItems }),
  ArrayMinSize: (minItems) => ({ minItems }),
  NestedList: (_type, maxItems) => ({ maxItems }),
  ModelPatterns: () => ({ maxItems: 64, examples: [['gpt-*']] }),
  Networks: () => ({ maxItems: 64, examples: [['10.0.0.0/8']] }),
  TagNames: () => ({ maxItems: 16, examples: [['team']] }),
  TagValues: () => ({ maxProperties: 16, examples: [{ team: 'search' }] }),
  AttributionOf: () => ({ maxProperties: 24, examples: [{ user: 'alice', client: 'OpenAI/Python', 'tag:team': 'search' }] }),
  AttributionValue: () => ({ minLength: 1, maxLength: 256 }),
  ArrayUnique: () => ({ uniqueItems: true }),
  // Those of the catalog file.
  WholeNumber: (minimum, maximum) => ({ type: 'integer', minimum, maximum }),
  Identifier: (maxLength) => ({ minLength: 1, maxLength }),
  List: (minItems, maxItems) => ({ minItems, maxItems }),
  SetOf: () => ({ uniqueItems: true }),
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
  ...['Optional', 'TrueOrFalse', 'OneOf', 'Fields', 'ValidateNested', 'Type', 'Percent', 'UsdEach', 'UsdPerMillionTokens'],
  ...['BaseUrl', 'KeyVariable', 'SecretFileName', 'UrlPath', 'UpstreamProxy'],
]);

function evaluate(left: Argument, operator: string, right: Argument): number {
  if (typeof left !== 'number' || typeof right !== 'number') throw new Error(`no value for ${operator}`);
  if (operator === '**') return left ** right;
  if (operator === '-') return left - right;
  throw new Error(`no value for ${operator}`);
}

/** Amounts are integers in strings. */
function amount(name: string, { type }: Schema): Schema {
  const isText = type === 'string' || (Array.isArray(type) && type.includes('string'));
  return isText && /PicoUsd$|_pico_usd$|^expiredHeld$/.test(name) ? { pattern: '^-?\\d+$' } : {};
}

function described(symbol: ts.Symbol, checker: ts.TypeChecker): Pick<Schema, 'description'> {
  const description = ts.displayPartsToString(symbol.getDocumentationComment(checker));
  return description ? { description } : {};
}

/** An initial value is the default of a property that may be absent. */
function isOptional({ flags, valueDeclaration }: ts.Symbol): boolean {
  const hasDefault = valueDeclaration && ts.isPropertyDeclaration(valueDeclaration) && valueDeclaration.initializer !== undefined;
  return Boolean(flags & ts.SymbolFlags.Optional) || Boolean(hasDefault);
}

function isOurs(symbol: ts.Symbol): boolean {
  return (symbol.declarations ?? []).some((declaration) => /^(apps|libs)\//.test(relative('.', declaration.getSourceFile().fileName)));
}
