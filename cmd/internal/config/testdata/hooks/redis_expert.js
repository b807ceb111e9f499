export function pre_call() {}
export function post_call() {}
