/* An identity provider to try the notes server with: any user name and password log in.

    npm install
    node identity_provider.mjs 9000 http://127.0.0.1:8000/mcp

It issues tokens for one MCP server, whose URL is the second argument. Not for production: it keeps
everything in memory, and its pages are for developers.
*/
import { generateKeyPairSync } from 'node:crypto';
import process from 'node:process';
import Provider, { errors } from 'oidc-provider';

const [port, resource] = process.argv.slice(2);
const issuer = `http://127.0.0.1:${port}`;
const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });

const clients = [
  {
    // A program on the machine of its user. PKCE proves that the code is its own.
    client_id: 'notes-client',
    token_endpoint_auth_method: 'none',
    application_type: 'native',
    redirect_uris: ['http://127.0.0.1/callback'],
    grant_types: ['authorization_code', 'refresh_token'],
  },
  {
    // A program without a user.
    client_id: 'notes-robot',
    client_secret: process.env.ROBOT_SECRET ?? 'only-to-try-it',
    token_endpoint_auth_method: 'client_secret_basic',
    redirect_uris: [],
    response_types: [],
    grant_types: ['client_credentials'],
  },
  {
    // The notes server, if it asks about tokens instead of verifying them (RFC 7662).
    client_id: 'notes-server',
    client_secret: process.env.SERVER_SECRET ?? 'only-to-try-it',
    token_endpoint_auth_method: 'client_secret_basic',
    redirect_uris: [],
    response_types: [],
    grant_types: [],
  },
];

const provider = new Provider(issuer, {
  clients,
  jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), alg: 'ES256', use: 'sig' }] },
  cookies: { keys: [crypto.randomUUID()] },
  scopes: ['openid', 'offline_access', 'notes:read', 'notes:write'],
  responseTypes: ['code'],
  clientDefaults: { response_types: ['code'], id_token_signed_response_alg: 'ES256' },
  pkce: { required: () => true },
  ttl: { AccessToken: 300, ClientCredentials: 300, Grant: 86_400, Session: 86_400 },
  features: {
    clientCredentials: { enabled: true },
    introspection: { enabled: true, allowedPolicy: (_, client) => client.clientId === 'notes-server' },
    registration: { enabled: true },
    resourceIndicators: {
      enabled: true,
      // The audience of a token is the URL of the MCP server, as clients know it (RFC 8707).
      getResourceServerInfo: (_, indicator) => {
        if (indicator !== resource) throw new errors.InvalidTarget();
        return {
          scope: 'notes:read notes:write',
          audience: resource,
          accessTokenFormat: process.env.TOKENS ?? 'jwt',
          jwt: { sign: { alg: 'ES256' } },
        };
      },
      useGrantedResource: () => true,
    },
  },
});

provider.listen(port, '127.0.0.1', () => console.log(`${issuer} issues tokens for ${resource}`));
