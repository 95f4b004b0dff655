-- still_holds(ctx, own, one): whether the delegations by which an answered request came to its reviewer hold now: only then may the answer
-- become another.
local function still_holds(ctx, own, one)
  return one.chain == '' or not cut_chain(ctx, own, { reviewer = one.reviewer, chain = one.chain, via = one.via }, true)
end
