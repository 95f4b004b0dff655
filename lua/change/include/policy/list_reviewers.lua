-- list_reviewers(own, policy): whom to ask: those of the policy and of this call, each person once, and no contributor; a group as often
-- as it is named. Returns { slot, reviewer, name }.
local function list_reviewers(own, policy)
  local list, seen = {}, {}
  local function ask(reviewer, name)
    local person = string.match(reviewer, '^user:(.+)$')
    if person and (seen[person] or policy.contributors_may_vote ~= '1' and has_written(own.id, { person })) then return end
    seen[person or reviewer] = true
    list[#list + 1] = { slot = string.format('%d', #list + 1), reviewer = reviewer, chain = '', name = name }
  end
  for reviewer in string.gmatch(policy.reviewers, '[^,]+') do ask(reviewer, '') end  -- at most 16: reviewers of a policy
  for i, reviewer in ipairs(item_reviewer) do ask(reviewer, item_pairs[i].name or '') end
  return list
end
