-- find_obstacle(ctx, own, stamp): the first task because of which a new one is not created: a task of `after`, or a parent that it
-- needs, that does not exist; or the parent that it is to come after, while that waits for its children: each would wait for
-- the other. nil if there is none. How many other children there are does not matter: the same call, sent again, must get the same
-- answer.
local function find_obstacle(ctx, own, stamp)
  local parent, comes_after, others = own.parent, false, false
  local missing = own.after and find_missing(ctx, own.after, stamp) or own.needs_parent and find_missing(ctx, { parent }, stamp)
  if missing or not (parent and own.after) then return missing or nil end
  for _, id in ipairs(own.after) do
    comes_after, others = comes_after or id == parent, others or id ~= parent
  end
  if comes_after and not (own.after_any and others) and gathers(ctx, parent) then return parent end
end
