-- new_search(request): a search for those that wait for the owner of a request, directly or through others. `found`: each
-- of them by owner, with the wait by which it was found first; `todo`: all by number, of which those up to `at` were
-- visited, the last one up to `cursor`; `scans`: lines that are still to be read; `from`: by resource, the place behind
-- which all are known.
local function new_search(request)
  return { todo = { { owner = request.owner, depth = 0 } }, count = 1, at = 1, scans = {}, found = {}, from = {},
    wants = {}, entries = {}, loaded = 0, rooms = {} }
end
