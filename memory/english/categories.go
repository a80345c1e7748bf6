package english

import (
	"strings"
)

// Categories maps things from which people choose one for a purpose, such as editors, to their category. The name of a
// category is the concept of its values.
var Categories = func() map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(categoryWords) {
		name, list, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok {
			continue
		}
		for w := range strings.FieldsSeq(list) {
			out[strings.ReplaceAll(w, "_", " ")] = name
		}
	}
	return out
}()

const categoryWords = `
DATABASE: postgres postgresql mysql mariadb sqlite mongodb mongo dynamodb cockroachdb cassandra oracle clickhouse
DATABASE: couchdb scylladb firestore aurora neo4j snowflake bigquery redshift duckdb tidb yugabyte spanner
CI: jenkins circleci githubactions github_actions gitlabci gitlab_ci travis buildkite teamcity bamboo drone tekton
CI: azure_pipelines woodpecker concourse
QUEUE: kafka rabbitmq nats jetstream sqs pulsar activemq redpanda zeromq kinesis pubsub
CACHE: redis memcached valkey varnish dragonfly
CLOUD: aws gcp azure heroku hetzner digitalocean linode render fly.io vercel netlify cloudflare ovh
TRACKER: jira linear asana trello youtrack clickup shortcut monday.com github_issues basecamp
CHAT: slack teams discord mattermost zulip telegram whatsapp signal
REPO: github gitlab bitbucket gitea codeberg forgejo
EDITOR: vscode vim neovim emacs intellij goland pycharm sublime zed helix nano webstorm cursor
CODELANG: python go golang rust java kotlin typescript javascript ruby scala elixir haskell swift perl php c++
CODELANG: clojure erlang zig
MONITOR: datadog prometheus grafana newrelic honeycomb splunk sentry nagios zabbix cloudwatch dynatrace
LOG: loki elasticsearch kibana elk logstash graylog papertrail
OS: linux macos windows ubuntu debian fedora arch mint
SHELL: bash zsh fish powershell nushell
TEST: pytest unittest jest vitest mocha testify junit cypress playwright selenium ginkgo
LINT: eslint prettier black ruff flake8 biome golangci-lint
DOCS: confluence notion sharepoint obsidian coda wiki
FRAMEWORKUI: react vue angular svelte solid ember htmx next.js
SECRET: vault 1password bitwarden lastpass keepass
ORCHESTRATION: kubernetes nomad ecs swarm mesos
DESIGN: figma sketch penpot xd
VIDEO: zoom meet webex jitsi
DRINK: coffee tea espresso latte cappuccino matcha water juice soda beer wine cola cocoa kombucha americano
DRINK: chocolate lemonade cider rooibos chai mate whisky gin smoothie
DIET: vegetarian vegan pescatarian omnivore carnivore keto paleo flexitarian low-carb gluten-free dairy-free
DIET: sugar-free plant-based lactose-free halal kosher
COLOR: red blue green yellow purple orange black white pink grey gray brown turquoise teal violet navy
DAYPART: morning afternoon evening night mornings afternoons evenings nights
SEASON: spring summer autumn fall winter
COMMUTE: bike bus train tram metro subway car bicycle foot walking ferry scooter
INSTRUMENT: guitar piano violin drums cello flute saxophone ukulele trumpet clarinet harp bass
SPORT: tennis football soccer basketball running swimming climbing bouldering yoga pilates squash golf rowing judo
SPORT: karate boxing cycling hiking
THEME: dark light
ROLE: manager engineer analyst writer recruiter architect nurse teacher designer developer director consultant
ROLE: accountant lawyer doctor chef
FREQUENCY: daily weekly biweekly monthly quarterly yearly fortnightly hourly
STYLE: tabs spaces
STREAM: netflix spotify tidal deezer hulu
MERGE: squash rebase
`
