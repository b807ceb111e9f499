export function validate_auth() {}
